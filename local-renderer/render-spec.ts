/** The video to render. */
export interface RenderSpec {
  prompt: string;
  seed: number;
  /** Even. */
  width: number;
  /** Even. */
  height: number;
  /** A multiple of 1/24 s: the video has 24 frames a second. */
  durationSeconds: number;
  generateAudio: boolean;
  mode: 'text-to-video' | 'image-to-video' | 'media-to-video';
  firstFramePath?: string | undefined;
  lastFramePath?: string | undefined;
  referenceImagePaths: readonly string[];
  referenceVideoPaths: readonly string[];
}
