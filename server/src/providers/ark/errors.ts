import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  CONTENT_FAULT,
  createRefusalReader,
  type Meaning,
  type RequestFault,
  truncate,
} from '../kit/outcomes.ts';
import type { JsonResponse } from '../kit/remote.ts';

const NullableText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** Ark's description of a failure: in a 4xx or 5xx, and in a failed job. */
export const ArkErrorSchema = Type.Object({
  code: Type.String(),
  message: NullableText,
  param: NullableText,
});
export type ArkError = Static<typeof ArkErrorSchema>;

const ErrorBodySchema = Type.Object({ error: ArkErrorSchema });

const MEDIA: RequestFault = {
  code: 'invalid_media',
  message: 'The provider could not use an image or a video of this request.',
};
const REQUEST: RequestFault = {
  code: 'invalid_request',
  message: 'The provider did not accept this request.',
};

/**
 * What Ark's error codes mean; the first match counts.
 * Source: the error code reference of ark-cli and the create page of the API reference. Any other
 * 4xx except a 429 is the operator's fault, so that a person looks at it.
 */
const RULES: [codes: RegExp, meaning: Meaning][] = [
  [/SensitiveContentDetected|RiskDetection|PolicyViolation|PrivacyInformation/, CONTENT_FAULT],
  // The service makes the links to inputs, and this adapter chooses the parameters.
  [/^InvalidParameter\.(TosURLInvalid|UnsupportedParameter)/, 'operator'],
  [/^(Missing|Invalid)Parameter/, REQUEST],
  [/^SetLimitExceeded/, 'operator'], // a spending limit of the account, not a rate limit
  [/RateLimit|^QuotaExceeded|^InflightBatchsizeExceeded|^ServerOverloaded|^RequestBurst/, 'busy'],
  [/^(AuthenticationError|InvalidAccountStatus|AccessDenied|OperationDenied)/, 'operator'],
  [/^(AccountOverdueError|InvalidEndpoint|ModelNotOpen|NotFound|UnsupportedModel)/, 'operator'],
];

/** Fields of a create that the service or its operator sets, not a client. */
const OWN_FIELD = /^(callback_url|safety_identifier|model|execution_expires_after)$/;

/** The start of a message that names a field: "The parameter `duration` is ...", "model is ..." */
const FIELD_IN_MESSAGE = /^(?:the |invalid )?(?:parameter\W+)?(\w+)/i;

const MEDIA_PARAM = /(image|video|audio)_url|content\[[1-9]/;

export function arkMeaning(error: ArkError, status: number): Meaning {
  const known = RULES.find(([codes]) => codes.test(error.code))?.[1];
  if (known === REQUEST && OWN_FIELD.test(fieldIn(error))) return 'operator';
  const isAboutMedia = MEDIA_PARAM.test(error.param ?? '') || MEDIA_PARAM.test(error.code);
  if (known === REQUEST && isAboutMedia) return MEDIA;
  return known ?? (status === 429 ? 'busy' : 'operator');
}

/** The field that an error is about. The message counts if neither param nor code names a field. */
function fieldIn({ code, param, message }: ArkError): string {
  const inMessage = FIELD_IN_MESSAGE.exec(message ?? '')?.[1];
  return param || code.split('.').at(1) || inMessage || '';
}

export function arkCause({ code, message }: ArkError): string {
  return truncate(`${code}: ${message ?? ''}`.trim());
}

export function arkErrorIn(body: unknown): ArkError | undefined {
  return Value.Check(ErrorBodySchema, body) ? body.error : undefined;
}

export function arkCauseOf({ status, body }: JsonResponse): string {
  const error = arkErrorIn(body);
  return truncate(`HTTP ${status} ${error ? arkCause(error) : "not in Ark's format"}`);
}

export const refusedSubmit = createRefusalReader({
  errorIn: arkErrorIn,
  causeOf: arkCauseOf,
  meaningOf: arkMeaning,
});
