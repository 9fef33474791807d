import { UsageError } from '../../kernel/errors.ts';
import { openApi, type RemoteOptions } from '../kit/remote.ts';
import type { FalModels } from './model-input.ts';

export interface FalOptions extends RemoteOptions {
  apiKey: string;
  models: FalModels;
  /** Takes requests and shows their status. */
  queueUrl: string;
  /** Lists the account's past requests. */
  platformUrl: string;
  /** The address of the public keys that verify webhooks. */
  jwksUrl: string;
  /**
   * The account's fal user id. If set, a webhook that is signed for another user counts as forged.
   */
  userId?: string | undefined;
  /**
   * Whether each attempt's id is sent as `end_user_id`, which the request history may show. The
   * field is meant to name a person, so this can be switched off. Then equal requests that were
   * sent within minutes can't be told apart. On by default.
   */
  markWithEndUserId?: boolean | undefined;
}

/** A request that has not started after this time never starts. */
export const START_TIMEOUT_SECONDS = 3600;
/** fal names no limit for a run; Seedance takes far less than an hour. */
const RUN_LIMIT_SECONDS = 3600;
/** At the latest this many seconds after its submit, a request has succeeded or failed. */
export const JOB_LIMIT_SECONDS = START_TIMEOUT_SECONDS + RUN_LIMIT_SECONDS;

export type FalSettings = ReturnType<typeof falSettings>;

/** @throws UsageError when the models belong to several apps: a job id does not show its app */
export function falSettings(options: FalOptions) {
  return {
    ...options,
    api: openApi(options, { authorization: `Key ${options.apiKey}` }),
    /** The `owner/app` under which requests are read: the rest of an endpoint is left out there. */
    app: appOf(options.models),
    markWithEndUserId: options.markWithEndUserId ?? true,
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
