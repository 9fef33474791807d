import {
  AVERROR_EOF,
  Dictionary,
  FFmpegError,
  Filter,
  type FilterContext,
  Frame,
  FilterGraph as NativeGraph,
} from 'node-av';

/** A graph of FFmpeg filters with one output. */
export class FilterGraph {
  #graph = new NativeGraph();
  #filters = 0;

  constructor() {
    this.#graph.alloc();
    this.#graph.nbThreads = 2; // on every machine, so that the output is the same
  }

  /**
   * Adds a filter that reads from the given ones. Options are values, so text needs no escaping.
   * @throws when FFmpeg rejects an option, or can't open a file
   */
  add(
    name: string,
    options: Record<string, string | number>,
    ...sources: FilterContext[]
  ): FilterContext {
    const filter = Filter.getByName(name);
    const context = filter && this.#graph.allocFilter(filter, `${name}-${this.#filters++}`);
    if (!context) throw new Error(`no filter ${name}`);
    using settings = Dictionary.fromObject(options);
    FFmpegError.throwIfError(context.init(settings.getNative()), name);
    for (const [pad, source] of sources.entries()) {
      FFmpegError.throwIfError(source.link(0, context, pad), `link ${name}`);
    }
    return context;
  }

  /** The frames of the last filter; the caller frees each. */
  async *frames(last: FilterContext): AsyncGenerator<Frame, void> {
    const sink = this.add(last.filter?.isAudio() ? 'abuffersink' : 'buffersink', {}, last);
    FFmpegError.throwIfError(await this.#graph.config(), 'configure filters');
    for (;;) {
      const frame = new Frame();
      frame.alloc();
      const code = await sink.buffersinkGetFrame(frame);
      if (code >= 0) {
        yield frame;
        continue;
      }
      frame.free();
      if (code === AVERROR_EOF) return;
      throw new FFmpegError(code);
    }
  }

  [Symbol.dispose](): void {
    this.#graph.free();
  }
}
