import { openApi, type RemoteOptions } from '../kit/remote.ts';
import type { ReplicateModels } from './model-input.ts';

/** 600 a minute for an account. Source: Replicate docs, rate limits. */
export const CREATES_PER_SECOND = 10;

export interface ReplicateOptions extends RemoteOptions {
  apiToken: string;
  models: ReplicateModels;
  baseUrl: string;
  /** `whsec_...`; fetched from Replicate if not given. */
  webhookSecret?: string | undefined;
  /**
   * Seconds after which the list shows every new prediction, if an operator knows. A prediction
   * that is not listed by then counts as not existing. If not given, absence is always weak,
   * because Replicate does not promise how soon the list shows a prediction.
   */
  listLagSeconds?: number | undefined;
}

export type ReplicateSettings = ReturnType<typeof replicateSettings>;

export function replicateSettings(options: ReplicateOptions) {
  return {
    ...options,
    api: openApi(options, { authorization: `Bearer ${options.apiToken}` }),
    listLagSeconds: options.listLagSeconds ?? Number.POSITIVE_INFINITY,
  };
}
