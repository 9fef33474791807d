import type { BuiltInModel } from '../../catalog/models.ts';
import { modelIdOf } from '../kit/configured-models.ts';
import { type FieldTable, requestFields } from '../kit/request-fields.ts';
import type { JobSpec, ProviderInput } from '../provider.ts';

export type OpenRouterModels = Record<BuiltInModel, string>;

/** Slugs in OpenRouter's list of video models (`GET /videos/models`, August 2026). */
export const OPENROUTER_MODELS: OpenRouterModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0-fast',
  'video-2.0-mini': 'bytedance/seedance-2.0-mini',
};

/** Source: OpenRouter API reference, "Submit a video generation request". */
export const OPENROUTER_FIELDS: FieldTable = {
  model: { by: '`model`: the slug in the table above, or the configured one' },
  mode: { by: 'the fields of the files' },
  prompt: { as: 'prompt' },
  aspect_ratio: { as: 'aspect_ratio', note: 'after `adaptive` is resolved' },
  resolution: {
    as: 'resolution',
    note: '`4k` as `4K`',
    value: ({ resolution }) => (resolution === '4k' ? '4K' : resolution),
  },
  duration: { as: 'duration' },
  generate_audio: { as: 'generate_audio' },
  seed: { as: 'seed' },
  image_url: { by: '`frame_images` item, `frame_type` `first_frame`' },
  end_image_url: { by: '`frame_images` item, `frame_type` `last_frame`' },
  reference_image_urls: { by: '`input_references` items `image_url`' },
  reference_video_urls: { by: '`input_references` items `video_url`' },
  reference_video_durations: { notSent: 'only the price depends on it' },
};

/** The body of a submit. Fields without a value are left out of its JSON. */
export function openRouterBody(jobSpec: JobSpec, models: OpenRouterModels) {
  const isFrame = ({ role }: ProviderInput) => role === 'first_frame' || role === 'last_frame';
  const frames = jobSpec.inputs.filter(isFrame);
  const references = jobSpec.inputs.filter((input) => !isFrame(input));
  return {
    model: modelIdOf(models, jobSpec),
    ...requestFields(OPENROUTER_FIELDS, jobSpec),
    frame_images: unlessEmpty(
      frames.map((input) => ({ ...linkTo(input), frame_type: input.role })),
    ),
    input_references: unlessEmpty(references.map(linkTo)),
    callback_url: jobSpec.callbackUrl,
  };
}

/** OpenRouter takes videos only as https links, so images are links too. */
function linkTo({ role, url }: ProviderInput) {
  return role === 'reference_video'
    ? { type: 'video_url', video_url: { url } }
    : { type: 'image_url', image_url: { url } };
}

function unlessEmpty<Item>(items: Item[]): Item[] | undefined {
  return items.length > 0 ? items : undefined;
}
