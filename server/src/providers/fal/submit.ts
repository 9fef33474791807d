import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { CallOutcome } from '../../outbound/call.ts';
import { JobIdSchema } from '../kit/job-id.ts';
import { isOutcomeUnknown, parseJson, retryAfterSeconds } from '../kit/json-call.ts';
import type { JobSpec, SubmitOutcome } from '../provider.ts';
import { falErrorIn, falRejection } from './errors.ts';
import { endpointOf, falInput } from './model-input.ts';
import type { FalSettings } from './settings.ts';

const AcceptedSchema = Type.Object({ request_id: JobIdSchema });

/** Results can be fetched for this long, whatever the account's own setting is. */
export const OUTPUT_LIFE_SECONDS = 86_400;

/**
 * Submits a request to fal's queue; one try.
 * Source: fal docs, queue submit, common parameters, reliability and data retention.
 */
export async function submitToFal(
  settings: FalSettings,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const { callbackUrl, attemptId } = jobSpec;
  const mark = settings.markWithEndUserId ? { end_user_id: attemptId } : {};
  const url = new URL(`${settings.queueUrl}/${endpointOf(jobSpec, settings.models)}`);
  url.searchParams.set('fal_webhook', callbackUrl);
  const response = await settings.call({
    url: url.href,
    method: 'POST',
    headers: submitHeaders(settings),
    body: JSON.stringify({ ...falInput(jobSpec), ...mark }),
    timeoutSeconds: settings.submitTimeoutSeconds,
    mayStillSend,
  });
  return outcomeOf(response);
}

function submitHeaders(settings: FalSettings): Record<string, string> {
  const lifecycle = { expiration_duration_seconds: OUTPUT_LIFE_SECONDS };
  return {
    authorization: `Key ${settings.apiKey}`,
    'content-type': 'application/json',
    // Together these two limit an orphan job: it starts within that time, once, or never.
    'x-fal-request-start-timeout': String(settings.startTimeoutSeconds),
    'x-fal-no-retry': '1',
    'x-fal-store-io': '1', // a find reads the request history
    'x-fal-object-lifecycle-preference': JSON.stringify(lifecycle),
  };
}

function outcomeOf(response: CallOutcome): SubmitOutcome {
  if (response.kind !== 'responded') return response;
  const { status, headers } = response;
  const body = parseJson(response.body);
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && Value.Check(AcceptedSchema, body)) {
    return { kind: 'accepted', jobId: body.request_id };
  }
  const error = falErrorIn(body);
  if (isOutcomeUnknown(status) || !error) return { kind: 'unknown', cause: `HTTP ${status}` };
  return falRejection(status, error, retryAfterSeconds(headers));
}
