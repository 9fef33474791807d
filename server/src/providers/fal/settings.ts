import { UsageError } from '../../kernel/errors.ts';
import type { CallOnce } from '../../outbound/call.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';
import { getJson, type JsonResponse } from '../kit/json-call.ts';
import { FAL_MODELS, type FalModels } from './model-input.ts';

export interface FalOptions {
  apiKey: string;
  call: CallOnce;
  /** Opens results. */
  guardedFetch: GuardedFetch;
  submitTimeoutSeconds: number;
  /** Milliseconds since 1970. */
  now(): number;
  models?: FalModels | undefined;
  /** Takes and shows requests. */
  queueUrl: string;
  /** Lists the account's past requests; https://api.fal.ai when not given. */
  platformUrl?: string | undefined;
  /** The keys that webhooks are signed with. */
  jwksUrl?: string | undefined;
  /** Our own fal user id: callbacks signed for another user's request then count as forged. */
  userId?: string | undefined;
  /**
   * Whether each attempt's id is sent as `end_user_id`, which the request history may show again.
   * The field is meant to name a person, so this can be switched off; identical requests of the
   * same minutes can then not be told apart. On when not given.
   */
  markWithEndUserId?: boolean | undefined;
  /** Awaited before every page of the history, the first too: a turn of the `find` budget. */
  nextListTurn?: (() => Promise<void>) | undefined;
  /** A request that has not started by then never will; 3600 when not given. */
  startTimeoutSeconds?: number | undefined;
  readTimeoutSeconds?: number | undefined;
  /** The largest result that is fetched; see openOutputAt. */
  maxOutputBytes?: number | undefined;
}

type Settled = Omit<FalOptions, 'maxOutputBytes'>;
export type FalSettings = { [Name in keyof Settled]-?: NonNullable<Settled[Name]> } & {
  /** The `owner/app` under which requests are read: the rest of an endpoint is left out there. */
  app: string;
  /** From its submit, a request has ended by then, whatever became of it. */
  jobLimitSeconds: number;
};

/** fal names no limit for a run; an hour is far above what Seedance takes. */
const RUN_LIMIT_SECONDS = 3600;

/** @throws UsageError when the models belong to several apps: a job's id would not say which */
export function falSettings(options: FalOptions): FalSettings {
  const models = options.models ?? FAL_MODELS;
  const startTimeoutSeconds = options.startTimeoutSeconds ?? 3600;
  return {
    ...options,
    models,
    app: appOf(models),
    platformUrl: options.platformUrl ?? 'https://api.fal.ai',
    jwksUrl: options.jwksUrl ?? 'https://rest.fal.ai/.well-known/jwks.json',
    userId: options.userId ?? '',
    markWithEndUserId: options.markWithEndUserId ?? true,
    nextListTurn: options.nextListTurn ?? (async () => {}),
    startTimeoutSeconds,
    jobLimitSeconds: startTimeoutSeconds + RUN_LIMIT_SECONDS,
    readTimeoutSeconds: options.readTimeoutSeconds ?? 20,
  };
}

function appOf(models: FalModels): string {
  const apps = new Set(Object.values(models).map((path) => path.split('/', 2).join('/')));
  const [app] = apps;
  if (app === undefined || apps.size > 1) {
    throw new UsageError(`The fal models belong to several apps: ${[...apps].join(', ')}`);
  }
  return app;
}

/** Reads something of the account's; see getJson for what it throws. */
export function getFromFal(settings: FalSettings, url: string): Promise<JsonResponse> {
  const headers = { authorization: `Key ${settings.apiKey}` };
  return getJson(settings.call, { url, headers, timeoutSeconds: settings.readTimeoutSeconds });
}
