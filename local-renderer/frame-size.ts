/** Pixels of a frame, or of a box in it. */
export interface FrameSize {
  width: number;
  height: number;
}
