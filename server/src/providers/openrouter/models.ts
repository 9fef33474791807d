import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Mode } from '../../catalog/models.ts';
import type { VendorModel } from '../../catalog/proposed-model.ts';
import { UsageError } from '../../kernel/errors.ts';
import type { Environment } from '../../kernel/variables.ts';
import { callOnce } from '../../outbound/call.ts';
import { type JsonResponse, openApi } from '../kit/remote.ts';
import { openRouterCause } from './errors.ts';
import { readBaseUrl } from './settings.ts';

const orNull = <Of extends Parameters<typeof Type.Union>[0][number]>(schema: Of) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const Texts = orNull(Type.Array(Type.String()));
/** Source: OpenRouter API reference, "List all video generation models". */
const ModelSchema = Type.Object({
  id: Type.String(),
  name: Type.Optional(Type.String()),
  supported_resolutions: Texts,
  supported_aspect_ratios: Texts,
  supported_durations: orNull(Type.Array(Type.Number())),
  supported_frame_images: Texts,
  /** Not in the reference yet; the list has it. */
  input_modalities: Texts,
  /** null: there is no switch for it. */
  generate_audio: orNull(Type.Boolean()),
  seed: orNull(Type.Boolean()),
  /** In units that differ by model. */
  pricing_skus: orNull(Type.Record(Type.String(), Type.Unknown())),
});
const ListSchema = Type.Object({ data: Type.Array(ModelSchema) });

const LIST_SECONDS = 20;

/** OpenRouter's list of video models, which needs no key. */
export async function listOpenRouterModels(env: Environment): Promise<VendorModel[]> {
  const url = `${readBaseUrl(env)}/videos/models`;
  const deps = { submitTimeoutSeconds: LIST_SECONDS, nextListTurn: async () => {} };
  const { get } = openApi(deps, { readCall: callOnce });
  const response = await get(url).catch((error: Error) => refuseList(url, error.message));
  if (response.status !== 200) refuseList(url, openRouterCause(response));
  return parseList(response, url).map(vendorModel);
}

function refuseList(url: string, cause: string): never {
  throw new UsageError(`${url} can't be read: ${cause}`);
}

function parseList({ body }: JsonResponse, url: string) {
  if (Value.Check(ListSchema, body)) return body.data;
  const [fault] = Value.Errors(ListSchema, body);
  return refuseList(url, `it is not in OpenRouter's format at ${fault?.instancePath || '/'}`);
}

function vendorModel(model: Static<typeof ModelSchema>): VendorModel {
  const frames = model.supported_frame_images ?? [];
  const modes = modesOf(model);
  const lacksEnd = modes.includes('image-to-video') && !frames.includes('last_frame');
  return {
    id: model.id,
    title: model.name ?? model.id,
    modes,
    resolutions: (model.supported_resolutions ?? []).map((resolution) =>
      resolution === '4K' ? '4k' : resolution,
    ),
    durations: model.supported_durations ?? [],
    aspectRatios: model.supported_aspect_ratios ?? [],
    sound: model.generate_audio === true,
    seed: model.seed === true,
    prices: model.pricing_skus ?? {},
    lacks: lacksEnd ? ['end_image_url'] : [],
  };
}

/** Assumes that a model that takes videos takes them as references: the list does not say. */
function modesOf({
  supported_frame_images: frames,
  input_modalities: inputs,
}: Static<typeof ModelSchema>): Mode[] {
  const modes: Mode[] = ['text-to-video'];
  if (frames?.includes('first_frame')) modes.push('image-to-video');
  if (inputs?.includes('video')) modes.push('media-to-video');
  return modes;
}
