import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { rejected, truncate } from '../kit/rejection.ts';
import { isOutcomeUnknown, type JsonResponse, retryAfterSeconds } from '../kit/remote.ts';
import type { SubmitOutcome } from '../provider.ts';

const NullableText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** Ark's description of a failure: in a 4xx or 5xx, and in a failed task. */
export const ArkErrorSchema = Type.Object({
  code: Type.String(),
  message: NullableText,
  param: NullableText,
});
export type ArkError = Static<typeof ArkErrorSchema>;

const ErrorBodySchema = Type.Object({ error: ArkErrorSchema });

/** Why Ark refused something. `busy` and `operator` mean the same as in `SubmitOutcome`. */
type Refusal = 'content_refused' | 'invalid_media' | 'invalid_request' | 'busy' | 'operator';

type Rule = [codes: RegExp, refusal: Refusal];

/**
 * What Ark's error codes mean; the first match counts.
 * Source: the error code reference of ark-cli and the create page of the API reference. Any other
 * 4xx except a 429 is the operator's fault, so that a person looks at it.
 */
const RULES: Rule[] = [
  [/SensitiveContentDetected|RiskDetection|PolicyViolation|PrivacyInformation/, 'content_refused'],
  // The service makes the links to inputs, and this adapter chooses the parameters.
  [/^InvalidParameter\.(TosURLInvalid|UnsupportedParameter)/, 'operator'],
  [/^(Missing|Invalid)Parameter/, 'invalid_request'],
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

/** What an error of Ark means. A 429 with an unknown code is busy. */
export function arkRefusal(error: ArkError, status: number): Refusal {
  const known = RULES.find(([codes]) => codes.test(error.code))?.[1];
  if (known === 'invalid_request' && OWN_FIELD.test(fieldIn(error))) return 'operator';
  if (known === 'invalid_request' && isAboutMedia(error)) return 'invalid_media';
  return known ?? (status === 429 ? 'busy' : 'operator');
}

/** The field that an error is about. The message counts if neither param nor code names a field. */
function fieldIn({ code, param, message }: ArkError): string {
  const inMessage = FIELD_IN_MESSAGE.exec(message ?? '')?.[1];
  return param || code.split('.').at(1) || inMessage || '';
}

function isAboutMedia(error: ArkError): boolean {
  return MEDIA_PARAM.test(error.param ?? '') || MEDIA_PARAM.test(error.code);
}

const PUBLIC_MESSAGES = {
  content_refused: 'The provider refused the content of this request.',
  invalid_media: 'The provider could not use an image or a video of this request.',
  invalid_request: 'The provider did not accept this request.',
};

/** The public message for this kind of refusal. */
export function publicMessage(refusal: keyof typeof PUBLIC_MESSAGES): string {
  return PUBLIC_MESSAGES[refusal];
}

/** Ark's code and message in one line, for operators. */
export function arkCause(error: ArkError, status?: number): string {
  const said = `${error.code}: ${error.message ?? ''}`.trim();
  return truncate(status === undefined ? said : `HTTP ${status} ${said}`);
}

/** The error in a response, if the body is in Ark's format. */
export function arkErrorIn({ body }: JsonResponse): ArkError | undefined {
  return Value.Check(ErrorBodySchema, body) ? body.error : undefined;
}

/**
 * The outcome of a submit whose response has no task id: rejected after a 4xx in Ark's format,
 * otherwise unknown. A 5xx is always unknown.
 */
export function refusedSubmit(response: JsonResponse): SubmitOutcome {
  const { status } = response;
  const error = arkErrorIn(response);
  if (!error) return { kind: 'unknown', cause: `HTTP ${status} without a task id` };
  const cause = arkCause(error, status);
  // Ark does not document a 409, so its meaning is unknown.
  if (isOutcomeUnknown(status) || status === 409) return { kind: 'unknown', cause };
  const refusal = arkRefusal(error, status);
  if (refusal === 'busy' || refusal === 'operator') {
    return rejected(refusal, cause, retryAfterSeconds(response.headers));
  }
  const message = publicMessage(refusal);
  return { kind: 'rejected', fault: 'request', code: refusal, message, cause };
}
