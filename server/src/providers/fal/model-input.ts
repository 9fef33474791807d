import type { BuiltInModel } from '../../catalog/models.ts';
import { modelIdOf } from '../kit/configured-models.ts';
import { type FieldTable, linksTo, linkTo, requestFields } from '../kit/request-fields.ts';
import type { JobSpec } from '../provider.ts';

/** The endpoint of each mode, under the model's path (fal, Seedance 2.0 model pages). */
const ENDPOINTS: Record<JobSpec['mode'], string> = {
  'text-to-video': 'text-to-video',
  'image-to-video': 'image-to-video',
  'media-to-video': 'reference-to-video',
};

/** The path of each model. All must belong to one `owner/app`, under which requests are read. */
export type FalModels = Record<BuiltInModel, string>;

export const FAL_MODELS: FalModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0/fast',
  'video-2.0-mini': 'bytedance/seedance-2.0/mini',
};

export function endpointOf(jobSpec: JobSpec, models: FalModels): string {
  return `${modelIdOf(models, jobSpec)}/${ENDPOINTS[jobSpec.mode]}`;
}

/** Source: fal, Seedance 2.0 model pages, input tables. */
export const FAL_FIELDS: FieldTable = {
  model: { by: 'the path of the endpoint' },
  mode: { by: 'the end of the endpoint' },
  prompt: { as: 'prompt' },
  aspect_ratio: { as: 'aspect_ratio', note: 'after `adaptive` is resolved' },
  resolution: { as: 'resolution' },
  duration: { as: 'duration', note: 'as a string', value: ({ duration }) => String(duration) },
  generate_audio: { as: 'generate_audio' },
  image_url: { as: 'image_url', value: linkTo('first_frame') },
  end_image_url: { as: 'end_image_url', value: linkTo('last_frame') },
  reference_image_urls: { as: 'image_urls', value: linksTo('reference_image') },
  reference_video_urls: { as: 'video_urls', value: linksTo('reference_video') },
  reference_video_durations: { notSent: 'only the price depends on it' },
  seed: {
    notSent: 'the model draws one. The number is recorded with the task',
  },
};

export const falInput = (jobSpec: JobSpec) => requestFields(FAL_FIELDS, jobSpec);
