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

/**
 * Options of a filter. FFmpeg gets them as values and does not parse them, so text needs no
 * escaping.
 */
export type FilterOptions = Record<string, string | number>;

/** Size and pixel format of the frames pushed to an input. A `Frame` fits this type. */
export interface FrameShape {
  width: number;
  height: number;
  format: AVPixelFormat | AVSampleFormat;
  colorSpace?: AVColorSpace;
  colorRange?: AVColorRange;
}

export interface FrameInput {
  output: FilterContext;
  /** Pushes the frame of one tick. The caller still frees its own reference to the frame. */
  push: (frame: Frame, tick: number) => Promise<void>;
}

/**
 * A graph of FFmpeg filters. Add filters and inputs, start it, then push frames and take results.
 * All its frames have the same rate. Uses two threads on every machine, so that the same input
 * gives the same output.
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

  /** Adds a filter that reads from the given ones. @throws when FFmpeg rejects an option */
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

  /** Adds an input for frames of one size and format. */
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
      FFmpegError.throwIfError(await output.buffersrcAddFrame(frame), 'push a frame');
    };
    return { output, push };
  }

  /** Starts the graph. The returned function takes the next finished frame; the caller frees it. */
  async start(last: FilterContext): Promise<() => Promise<Frame | 'needs_input' | 'ended'>> {
    const sink = this.add('buffersink', {}, last);
    FFmpegError.throwIfError(await this.#graph.config(), 'configure filters');
    return async () => {
      const frame = new Frame();
      frame.alloc();
      const code = await sink.buffersinkGetFrame(frame);
      if (code >= 0) return frame;
      frame.free();
      if (code === AVERROR_EAGAIN) return 'needs_input';
      if (code === AVERROR_EOF) return 'ended';
      throw new FFmpegError(code);
    };
  }

  [Symbol.dispose](): void {
    this.#graph.free();
  }
}
