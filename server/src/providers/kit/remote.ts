import { type CallOnce, callOnce, createKeptCalls } from '../../outbound/call.ts';
import type { AdapterDeps } from '../definition.ts';
import type { Callback } from '../provider.ts';

/** What the adapter of a provider with an HTTP API uses. */
export interface RemoteOptions
  extends Pick<AdapterDeps, 'guardedFetch' | 'submitTimeoutSeconds' | 'now'>,
    Partial<Pick<AdapterDeps, 'nextListTurn'>> {
  /** For submits and cancels: each on a connection of its own, so that its outcome is certain. */
  call: CallOnce;
  /** For reads, which may be made twice: on connections that stay open. */
  readCall: CallOnce;
  /** For reads and for each page of a list. */
  readTimeoutSeconds?: number | undefined;
  /** The largest result that is fetched; OUTPUT_BYTES if not given. */
  maxOutputBytes?: number | undefined;
}

/** The same, of the service. */
export function remoteOf(deps: AdapterDeps): RemoteOptions {
  const { guardedFetch, submitTimeoutSeconds, now, nextListTurn } = deps;
  const calls = { call: callOnce, readCall: createKeptCalls() };
  return { ...calls, guardedFetch, submitTimeoutSeconds, now, nextListTurn };
}

/** A callback that proves nothing, and why. */
export function forged(cause: string): Callback {
  return { kind: 'forged', cause };
}
