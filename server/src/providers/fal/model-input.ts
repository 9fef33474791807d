import { type FileFields, fileFields } from '../kit/file-fields.ts';
import type { Submission } from '../provider.ts';

/** The endpoint of each mode below a model's own path (fal, Seedance 2.0 model pages). */
const ENDPOINTS: Record<Submission['mode'], string> = {
  'text-to-video': 'text-to-video',
  'image-to-video': 'image-to-video',
  'media-to-video': 'reference-to-video',
};

/** Path of each model; all must belong to one `owner/app`, where its requests are read. */
export type FalModels = Record<Submission['model'], string>;

export const FAL_MODELS: FalModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0/fast',
  'video-2.0-mini': 'bytedance/seedance-2.0/mini',
};

/** The endpoint that a request goes to, such as bytedance/seedance-2.0/fast/text-to-video. */
export function endpointOf(submission: Submission, models: FalModels): string {
  return `${models[submission.model]}/${ENDPOINTS[submission.mode]}`;
}

const FILE_FIELDS: FileFields = {
  firstFrame: 'image_url',
  lastFrame: 'end_image_url',
  referenceImages: 'image_urls',
  referenceVideos: 'video_urls',
};

/**
 * The body of a submit. fal takes the duration as a string and has no seed; the aspect ratio is
 * resolved before it gets here, so `auto` is never sent.
 * Source: fal, Seedance 2.0 model pages, input tables.
 */
export function modelInput(submission: Submission): Record<string, unknown> {
  return {
    prompt: submission.prompt,
    aspect_ratio: submission.aspectRatio,
    resolution: submission.resolution,
    duration: String(submission.durationSeconds),
    generate_audio: submission.generateAudio,
    ...fileFields(submission, FILE_FIELDS),
  };
}
