import type { BuiltInModel } from '../../catalog/models.ts';
import { modelIdOf } from '../kit/configured-models.ts';
import { type FieldTable, requestFields } from '../kit/request-fields.ts';
import type { JobSpec, ProviderInput } from '../provider.ts';

export type ArkModels = Record<BuiltInModel, string>;

/** Ids of the 2.0 series at BytePlus (ap-southeast) and at Volcengine (cn-beijing). */
export const BYTEPLUS_MODELS: ArkModels = {
  'video-2.0': 'dreamina-seedance-2-0-260128',
  'video-2.0-fast': 'dreamina-seedance-2-0-fast-260128',
  'video-2.0-mini': 'dreamina-seedance-2-0-mini-260615',
};
export const VOLCENGINE_MODELS: ArkModels = {
  'video-2.0': 'doubao-seedance-2-0-260128',
  'video-2.0-fast': 'doubao-seedance-2-0-fast-260128',
  'video-2.0-mini': 'doubao-seedance-2-0-mini-260615',
};

/** By base URL, so that no operator has to configure the ids. */
export function modelsFor(baseUrl: string): ArkModels {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return host.endsWith('.volces.com') ? VOLCENGINE_MODELS : BYTEPLUS_MODELS;
}

/** Source: "Create video generation task". */
export const ARK_FIELDS: FieldTable = {
  model: { by: '`model`: the id in the table above, or the configured one' },
  mode: { by: 'the roles of the files' },
  prompt: { by: '`content` item `text`' },
  image_url: { by: '`content` item `image_url`, role `first_frame`' },
  end_image_url: { by: '`content` item `image_url`, role `last_frame`' },
  reference_image_urls: { by: '`content` items `image_url`, role `reference_image`' },
  reference_video_urls: { by: '`content` items `video_url`, role `reference_video`' },
  reference_video_durations: { notSent: 'only the price depends on it' },
  aspect_ratio: {
    as: 'ratio',
    note: 'after `adaptive` is resolved, so that a find can compare it',
  },
  resolution: { as: 'resolution' },
  duration: { as: 'duration' },
  generate_audio: { as: 'generate_audio' },
  seed: { notSent: 'the 2.0 series takes none. The number is recorded with the task' },
};

/**
 * The body of "Create video generation task". `service_tier` and `execution_expires_after` are left
 * out: some 2.0 models refuse them.
 * @param mark sent as `safety_identifier`; null leaves it out
 */
export function createBody(jobSpec: JobSpec, models: ArkModels, mark: string | null) {
  return {
    model: modelIdOf(models, jobSpec),
    content: [{ type: 'text', text: jobSpec.prompt }, ...jobSpec.inputs.map(contentItem)],
    ...requestFields(ARK_FIELDS, jobSpec),
    watermark: false,
    callback_url: jobSpec.callbackUrl,
    ...(mark === null ? {} : { safety_identifier: mark }),
  };
}

/** Ark takes videos only as URLs, so images are URLs too. */
function contentItem({ role, url }: ProviderInput) {
  return role === 'reference_video'
    ? { type: 'video_url', video_url: { url }, role }
    : { type: 'image_url', image_url: { url }, role };
}
