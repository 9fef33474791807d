import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type JsonResponse, leavesOpen, retryAfterSeconds } from '../kit/json-call.ts';
import { truncate } from '../kit/truncate.ts';
import type { SubmitOutcome } from '../provider.ts';

const NullableText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** What Ark says of a failure: in a 4xx or 5xx, and in a task that failed. */
export const ArkErrorSchema = Type.Object({
  code: Type.String(),
  message: NullableText,
  param: NullableText,
});
export type ArkError = Static<typeof ArkErrorSchema>;

const ErrorBodySchema = Type.Object({ error: ArkErrorSchema });

/** Why Ark refused something. `busy` and `operator` as in `SubmitOutcome`. */
export type Refusal = 'content_refused' | 'invalid_media' | 'invalid_request' | 'busy' | 'operator';

type Rule = [codes: RegExp, refusal: Refusal];

/**
 * Ark's error codes, the first match counts. Source: the error code reference of ark-cli and the
 * create page of the API reference. An unknown 4xx is the operator's: somebody must look at it.
 */
const RULES: Rule[] = [
  [/SensitiveContentDetected|RiskDetection|PolicyViolation|PrivacyInformation/, 'content_refused'],
  // Links to inputs are ours, and the parameters are chosen by this adapter.
  [/^InvalidParameter\.(TosURLInvalid|UnsupportedParameter)/, 'operator'],
  [/^(Missing|Invalid)Parameter/, 'invalid_request'],
  [/^SetLimitExceeded/, 'operator'], // a spending limit of the account, not of a minute
  [/RateLimit|^QuotaExceeded|^InflightBatchsizeExceeded|^ServerOverloaded|^RequestBurst/, 'busy'],
  [/^(AuthenticationError|InvalidAccountStatus|AccessDenied|OperationDenied)/, 'operator'],
  [/^(AccountOverdueError|InvalidEndpoint|ModelNotOpen|NotFound|UnsupportedModel)/, 'operator'],
];

/** What this service and its operator put into a create, and no client. */
const OWN_FIELD = /^(callback_url|safety_identifier|model|execution_expires_after)$/;

/** How a message begins that names a field: "The parameter `duration` is ...", "model is ..." */
const FIELD_IN_WORDS = /^(?:the |invalid )?(?:parameter\W+)?(\w+)/i;

const MEDIA_PARAM = /(image|video|audio)_url|content\[[1-9]/;

/** What an error of Ark means; `status` 429 is busy where the code says nothing. */
export function arkRefusal(error: ArkError, status: number): Refusal {
  const known = RULES.find(([codes]) => codes.test(error.code))?.[1];
  if (known === 'invalid_request' && OWN_FIELD.test(fieldIn(error))) return 'operator';
  if (known === 'invalid_request' && isAboutMedia(error)) return 'invalid_media';
  return known ?? (status === 429 ? 'busy' : 'operator');
}

/** The field that an error is about, as far as it says so; its message is asked last. */
function fieldIn({ code, param, message }: ArkError): string {
  const inWords = FIELD_IN_WORDS.exec(message ?? '')?.[1];
  return param || code.split('.').at(1) || inWords || '';
}

function isAboutMedia(error: ArkError): boolean {
  return MEDIA_PARAM.test(error.param ?? '') || MEDIA_PARAM.test(error.code);
}

const PUBLIC_WORDS = {
  content_refused: 'The provider refused the content of this request.',
  invalid_media: 'The provider could not use an image or a video of this request.',
  invalid_request: 'The provider did not accept this request.',
};

/** The public words for a refusal of this kind. */
export function publicMessage(refusal: keyof typeof PUBLIC_WORDS): string {
  return PUBLIC_WORDS[refusal];
}

/** The provider's code and words in one line, for operators. */
export function arkCause(error: ArkError, status?: number): string {
  const said = `${error.code}: ${error.message ?? ''}`.trim();
  return truncate(status === undefined ? said : `HTTP ${status} ${said}`);
}

/** The error in an answer, when it is in Ark's own shape. */
export function arkErrorIn({ body }: JsonResponse): ArkError | undefined {
  return Value.Check(ErrorBodySchema, body) ? body.error : undefined;
}

/**
 * What an answer without a task id means for a submit: rejected when it is a 4xx in Ark's own
 * shape, else unknown, a 5xx always.
 */
export function refusedSubmit(response: JsonResponse): SubmitOutcome {
  const { status } = response;
  const error = arkErrorIn(response);
  if (!error) return { kind: 'unknown', cause: `HTTP ${status} without a task id` };
  const cause = arkCause(error, status);
  // Ark documents no 409: nobody can say what it would be about.
  if (leavesOpen(status) || status === 409) return { kind: 'unknown', cause };
  const refusal = arkRefusal(error, status);
  if (refusal === 'busy' || refusal === 'operator') {
    const seconds = retryAfterSeconds(response.headers);
    const wait = seconds === undefined ? {} : { retryAfterSeconds: seconds };
    return { kind: 'rejected', fault: refusal, cause, ...wait };
  }
  const message = publicMessage(refusal);
  return { kind: 'rejected', fault: 'request', code: refusal, message, cause };
}
