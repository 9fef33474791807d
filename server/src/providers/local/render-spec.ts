/** A video to make. */
export interface RenderSpec {
  prompt: string;
  seed: number;
  /** Even. */
  width: number;
  /** Even. */
  height: number;
  /** Whole, 4 to 15. */
  durationSeconds: number;
  generateAudio: boolean;
  mode: 'text-to-video' | 'image-to-video' | 'media-to-video';
  firstFramePath?: string | undefined;
  lastFramePath?: string | undefined;
  referenceImagePaths: string[];
  referenceVideoPaths: string[];
}

/** What the parent sends to the child that renders. */
export interface RenderJob {
  spec: RenderSpec;
  outputPath: string;
}
