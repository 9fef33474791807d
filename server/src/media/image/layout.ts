import type { FilePart } from '../measurement.ts';

/** What the structure of an image says, before it is decoded. */
export interface ImageLayout {
  /** As stored: the orientation is not applied. */
  width: number;
  height: number;
  /** The EXIF orientation, 1 to 8. */
  orientation: number;
  /** The image without its metadata and without what follows it: pixels alone are decoded. */
  pixels: Buffer;
  /** The colours of a lossy WebP. */
  lossy?: LossyPicture;
  /** In order: see {@link ImageFacts}. */
  flaws: FilePart[];
}

interface LossyPicture {
  width: number;
  height: number;
  /** A frame of VP8. */
  frame: Buffer;
  /** Whether there is transparency beside the frame. */
  hasAlpha: boolean;
}
