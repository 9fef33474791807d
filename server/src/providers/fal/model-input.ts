import { type FileFields, fileFields } from '../kit/file-fields.ts';
import type { JobSpec } from '../provider.ts';

/** The endpoint of each mode, under the model's path (fal, Seedance 2.0 model pages). */
const ENDPOINTS: Record<JobSpec['mode'], string> = {
  'text-to-video': 'text-to-video',
  'image-to-video': 'image-to-video',
  'media-to-video': 'reference-to-video',
};

/** The path of each model. All must belong to one `owner/app`, under which requests are read. */
export type FalModels = Record<JobSpec['model'], string>;

export const FAL_MODELS: FalModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0/fast',
  'video-2.0-mini': 'bytedance/seedance-2.0/mini',
};

/** The endpoint of a request, such as bytedance/seedance-2.0/fast/text-to-video. */
export function endpointOf(jobSpec: JobSpec, models: FalModels): string {
  return `${models[jobSpec.model]}/${ENDPOINTS[jobSpec.mode]}`;
}

const FILE_FIELDS: FileFields = {
  firstFrame: 'image_url',
  lastFrame: 'end_image_url',
  referenceImages: 'image_urls',
  referenceVideos: 'video_urls',
};

/**
 * The body of a submit. fal takes the duration as a string and has no seed. The aspect ratio was
 * resolved before, so `auto` is never sent.
 * Source: fal, Seedance 2.0 model pages, input tables.
 */
export function falInput(jobSpec: JobSpec): Record<string, unknown> {
  return {
    prompt: jobSpec.prompt,
    aspect_ratio: jobSpec.aspectRatio,
    resolution: jobSpec.resolution,
    duration: String(jobSpec.durationSeconds),
    generate_audio: jobSpec.generateAudio,
    ...fileFields(jobSpec, FILE_FIELDS),
  };
}
