import type { AVColorRange, AVColorSpace, AVPixelFormat, AVSampleFormat } from 'node-av';
import {
  AVERROR_EAGAIN,
  AVERROR_EOF,
  Dictionary,
  FFmpegError,
  Filter,
  type FilterContext,
  FilterGraph,
  Frame,
} from 'node-av';

/** What a filter is set to. Handed over as values, never parsed, so text stays text. */
export type FilterOptions = Record<string, string | number>;

/** What the frames given to an input look like. A frame itself will do. */
export interface FrameShape {
  width: number;
  height: number;
  format: AVPixelFormat | AVSampleFormat;
  colorSpace?: AVColorSpace;
  colorRange?: AVColorRange;
}

export interface FrameInput {
  output: FilterContext;
  /** Gives a frame to the chain for one tick; the caller still frees its own hold on it. */
  push: (frame: Frame, tick: number) => Promise<void>;
}

/**
 * A graph of filters: built filter by filter, started, then fed and drained. All its frames tick
 * at one rate. Uses two threads on every machine, so that the same input gives the same output.
 */
export class FilterChain {
  #graph = new FilterGraph();
  #filters = 0;
  #framesPerSecond: number;

  constructor(framesPerSecond: number) {
    this.#framesPerSecond = framesPerSecond;
    this.#graph.alloc();
    this.#graph.nbThreads = 2;
  }

  /** Adds a filter behind the given ones. @throws when FFmpeg refuses an option */
  add(name: string, options: FilterOptions, ...sources: FilterContext[]): FilterContext {
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

  /** Adds a way in for frames of one shape. */
  input(shape: FrameShape): FrameInput {
    const output = this.add('buffer', {
      video_size: `${shape.width}x${shape.height}`,
      pix_fmt: shape.format,
      colorspace: shape.colorSpace ?? 'unknown',
      range: shape.colorRange ?? 'unknown',
      time_base: `1/${this.#framesPerSecond}`,
      frame_rate: `${this.#framesPerSecond}/1`,
    });
    const push = async (frame: Frame, tick: number) => {
      frame.pts = BigInt(tick);
      FFmpegError.throwIfError(await output.buffersrcAddFrame(frame), 'give a frame');
    };
    return { output, push };
  }

  /** Ends the building. The returned function takes the next finished frame out, if any. */
  async start(last: FilterContext): Promise<() => Promise<Frame | 'hungry' | 'ended'>> {
    const sink = this.add('buffersink', {}, last);
    FFmpegError.throwIfError(await this.#graph.config(), 'configure filters');
    return async () => {
      const frame = new Frame();
      frame.alloc();
      const code = await sink.buffersinkGetFrame(frame);
      if (code >= 0) return frame;
      frame.free();
      if (code === AVERROR_EAGAIN) return 'hungry';
      if (code === AVERROR_EOF) return 'ended';
      throw new FFmpegError(code);
    };
  }

  [Symbol.dispose](): void {
    this.#graph.free();
  }
}
