import { type FileFields, fileFields } from '../kit/file-fields.ts';
import type { JobSpec } from '../provider.ts';

/** `owner/name` of each official model; null if Replicate does not offer the model. */
export type ReplicateModels = Record<JobSpec['model'], string | null>;

/** Source: replicate.com/bytedance, which lists no mini model. */
export const REPLICATE_MODELS: ReplicateModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0-fast',
  'video-2.0-mini': null,
};

const FILE_FIELDS: FileFields = {
  firstFrame: 'image',
  lastFrame: 'last_frame_image',
  referenceImages: 'reference_images',
  referenceVideos: 'reference_videos',
};

/**
 * The `input` of a prediction. The aspect ratio was resolved before, so `adaptive` is never sent.
 * Source: replicate.com/bytedance/seedance-2.0, input schema.
 */
export function replicateInput(jobSpec: JobSpec): Record<string, unknown> {
  return {
    prompt: jobSpec.prompt,
    aspect_ratio: jobSpec.aspectRatio,
    resolution: jobSpec.resolution,
    duration: jobSpec.durationSeconds,
    generate_audio: jobSpec.generateAudio,
    seed: jobSpec.seed,
    ...fileFields(jobSpec, FILE_FIELDS),
  };
}
