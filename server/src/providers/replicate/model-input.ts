import type { BuiltInModel } from '../../catalog/models.ts';
import { type FieldTable, linksTo, linkTo, requestFields } from '../kit/request-fields.ts';
import type { JobSpec } from '../provider.ts';

/** `owner/name` of each official model; null if Replicate does not offer the model. */
export type ReplicateModels = Record<BuiltInModel, string | null>;

/** Source: replicate.com/bytedance, which lists no mini model. */
export const REPLICATE_MODELS: ReplicateModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0-fast',
  'video-2.0-mini': null,
};

/** Source: replicate.com/bytedance/seedance-2.0, input schema. */
export const REPLICATE_FIELDS: FieldTable = {
  model: { by: 'the path of the create; `video-2.0-mini` is **not offered**, as far as is known' },
  mode: { by: 'the fields of the files' },
  prompt: { as: 'prompt' },
  aspect_ratio: { as: 'aspect_ratio', note: 'after `adaptive` is resolved' },
  resolution: { as: 'resolution' },
  duration: { as: 'duration' },
  generate_audio: { as: 'generate_audio' },
  seed: { as: 'seed' },
  image_url: { as: 'image', value: linkTo('first_frame') },
  end_image_url: { as: 'last_frame_image', value: linkTo('last_frame') },
  reference_image_urls: { as: 'reference_images', value: linksTo('reference_image') },
  reference_video_urls: { as: 'reference_videos', value: linksTo('reference_video') },
  reference_video_durations: { notSent: 'only the price depends on it' },
};

export const replicateInput = (jobSpec: JobSpec) => requestFields(REPLICATE_FIELDS, jobSpec);
