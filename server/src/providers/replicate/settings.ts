import type { CallOnce } from '../../outbound/call.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';
import { getJson, type JsonResponse } from '../kit/json-call.ts';
import { REPLICATE_MODELS, type ReplicateModels } from './model-input.ts';

export interface ReplicateOptions {
  apiToken: string;
  call: CallOnce;
  /** Opens results. */
  guardedFetch: GuardedFetch;
  submitTimeoutSeconds: number;
  /** Milliseconds since 1970. */
  now(): number;
  models?: ReplicateModels | undefined;
  baseUrl: string;
  /** `whsec_...`; asked of Replicate when not given. */
  webhookSecret?: string | undefined;
  /** Replicate ends a prediction that is not done by then; 3600 when not given. */
  cancelAfterSeconds?: number | undefined;
  /**
   * How soon the list shows every new prediction, where an operator knows: one that it does not
   * show by then is taken not to exist. Replicate promises nothing, so absence never counts by
   * itself when this is not given.
   */
  listLagSeconds?: number | undefined;
  /** Awaited before every page of a list, the first too: a turn of the `find` budget. */
  nextListTurn?: (() => Promise<void>) | undefined;
  readTimeoutSeconds?: number | undefined;
  /** The largest result that is fetched; see openOutputAt. */
  maxOutputBytes?: number | undefined;
}

type Settled = Omit<ReplicateOptions, 'maxOutputBytes'>;
export type ReplicateSettings = { [Name in keyof Settled]-?: NonNullable<Settled[Name]> };

export function replicateSettings(options: ReplicateOptions): ReplicateSettings {
  return {
    ...options,
    models: options.models ?? REPLICATE_MODELS,
    webhookSecret: options.webhookSecret ?? '',
    cancelAfterSeconds: options.cancelAfterSeconds ?? 3600,
    listLagSeconds: options.listLagSeconds ?? Number.POSITIVE_INFINITY,
    nextListTurn: options.nextListTurn ?? (async () => {}),
    readTimeoutSeconds: options.readTimeoutSeconds ?? 20,
  };
}

/** Reads something of the account's; see getJson for what it throws. */
export function getFromReplicate(settings: ReplicateSettings, url: string): Promise<JsonResponse> {
  const headers = { authorization: `Bearer ${settings.apiToken}` };
  return getJson(settings.call, { url, headers, timeoutSeconds: settings.readTimeoutSeconds });
}
