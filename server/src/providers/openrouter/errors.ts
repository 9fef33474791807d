import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  CONTENT_FAULT,
  createRefusalReader,
  MEDIA_FAULT,
  meaningOfStatus,
  truncate,
} from '../kit/outcomes.ts';
import type { JsonResponse } from '../kit/remote.ts';

/** OpenRouter's error bodies. Source: API reference, errors and debugging. */
const ErrorBodySchema = Type.Object({
  error: Type.Object({
    code: Type.Number(),
    message: Type.String(),
    /** `error_type`, the upstream's `provider_code` and `raw` body, or why input was flagged. */
    metadata: Type.Optional(Type.Unknown()),
    /** Set if the model can't be served, whatever the request is. */
    availability: Type.Optional(Type.Unknown()),
  }),
});
type OpenRouterError = Static<typeof ErrorBodySchema>['error'];

export function openRouterErrorIn(body: unknown): OpenRouterError | undefined {
  return Value.Check(ErrorBodySchema, body) ? body.error : undefined;
}

export function openRouterCause({ status, body }: JsonResponse): string {
  const error = openRouterErrorIn(body);
  if (!error) return `HTTP ${status} not in OpenRouter's format`;
  const kinds = kindsOf(error).filter((kind) => kind !== '');
  return truncate([`HTTP ${status}`, error.message, ...kinds].join(': '));
}

/**
 * What an error is about: OpenRouter's own type, then the code and the body that it passes on from
 * the provider behind it.
 */
function kindsOf({ metadata }: OpenRouterError): string[] {
  const { error_type: type, provider_code: code, raw } = Object(metadata);
  return [type, code, raw].map((kind) => (typeof kind === 'string' ? kind : ''));
}

/**
 * OpenRouter's words for refused content, and the codes and words of ModelArk, which runs Seedance.
 * Sources: OpenRouter API reference, typed error codes; its video guide, webhook payloads.
 */
const REFUSED_CONTENT = [
  /content[ _]policy/i,
  /^refusal$/,
  /sensitive ?(content|information)/i,
  /RiskDetection|PolicyViolation|PrivacyInformation/,
  /may contain real person/i,
];

/** What `metadata` has if moderation, or a guardrail of the workspace, flagged the input. */
const FLAGS = ['reasons', 'flagged_input', 'patterns'];

const BAD_IMAGE = /^(invalid_image|image_too_(large|small)|unsupported_image_format)$/;
/** OpenRouter fetches images from links of this service. */
const UNREACHABLE_IMAGE = /^image_(not_found|download_failed)$/;

/** The outcome of a submit whose response has no job id. */
export const openRouterRefusal = createRefusalReader({
  errorIn: openRouterErrorIn,
  causeOf: openRouterCause,
  meaningOf(error, status) {
    const [type = ''] = kindsOf(error);
    const isAboutRequest = [400, 403, 413, 422].includes(status);
    if (!isAboutRequest) return meaningOfStatus(status);
    if (error.availability !== undefined || UNREACHABLE_IMAGE.test(type)) return 'operator';
    if (isFlagged(error) || isContent(error.message, ...kindsOf(error))) return CONTENT_FAULT;
    return meaningOfStatus(status, BAD_IMAGE.test(type) ? MEDIA_FAULT : undefined);
  },
});

function isFlagged({ metadata }: OpenRouterError): boolean {
  return FLAGS.some((flag) => Object.hasOwn(Object(metadata), flag));
}

/** Whether one of an error's texts says that the content was refused. */
export function isContent(...texts: string[]): boolean {
  return texts.some((text) => REFUSED_CONTENT.some((words) => words.test(text)));
}
