import { FFmpegError, Frame } from 'node-av';
import type { FrameShape } from './filter-chain.ts';

/**
 * A frame with a copy of packed pixels. (`Frame.fromVideoBuffer` of node-av 6.1 keeps only a
 * pointer to the given bytes, which are freed before the filters read them.)
 */
export function packedFrame(shape: FrameShape, pixels: Buffer): Frame {
  const frame = new Frame();
  frame.alloc();
  frame.width = shape.width;
  frame.height = shape.height;
  frame.format = shape.format;
  FFmpegError.throwIfError(frame.getBuffer(), 'allocate a frame');
  const [plane] = frame.data ?? [];
  const [stride = 0] = frame.linesize;
  const rowBytes = pixels.length / shape.height;
  for (let row = 0; plane && row < shape.height; row++) {
    pixels.copy(plane, row * stride, row * rowBytes, (row + 1) * rowBytes);
  }
  return frame;
}
