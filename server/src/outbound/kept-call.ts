import type { Client } from 'undici';
import {
  type Call,
  type CallOnce,
  type CallOutcome,
  CONNECT_SECONDS,
  messageOf,
  readBody,
  startDeadline,
  textHeaders,
} from './call.ts';
import { keepClients, openClient } from './kept-clients.ts';

/**
 * Makes calls that may be made twice, such as reads. A call uses a connection that an earlier one
 * left open, if there is one; if the host closes that without a response, the call is made again on
 * a new one. Else as callOnce: it never throws, follows no redirect, and has one deadline. Only for
 * calls without a body.
 */
export function createKeptCalls(): CallOnce {
  const kept = keepClients();
  return async (call) => {
    const url = URL.parse(call.url);
    if (!url || !/^https?:$/.test(url.protocol)) {
      return { kind: 'not_sent', cause: 'the address is not an http URL' };
    }
    const timeoutMessage = `no complete response within ${call.timeoutSeconds} s`;
    const deadline = startDeadline(timeoutMessage, call.timeoutSeconds, call.signal);
    const { signal } = deadline;
    const key = `${url.origin} ${call.ca ?? ''}`;
    const attempt = async (client: Client) => {
      const attempted = await exchange(client, url, call, signal);
      if (attempted.outcome.kind === 'responded') kept.keep(key, client);
      else client.destroy().catch(() => {});
      return attempted;
    };
    try {
      const open = kept.take(key);
      const first = open && (await attempt(open));
      if (first && (first.hasBegun || signal.aborted)) return first.outcome;
      const rules = { connectSeconds: CONNECT_SECONDS, connect: { ca: call.ca } };
      return (await attempt(openClient(url, rules))).outcome;
    } finally {
      deadline.end();
    }
  };
}

/** `hasBegun`: whether a response came, in part at least. */
async function exchange(
  client: Client,
  url: URL,
  call: Call,
  signal: AbortSignal,
): Promise<{ outcome: CallOutcome; hasBegun: boolean }> {
  let status: number | undefined;
  try {
    const response = await client.request({
      method: call.method as 'GET',
      path: url.pathname + url.search,
      headers: { 'accept-encoding': 'identity', ...call.headers },
      signal,
    });
    status = response.statusCode;
    const body = await readBody(response.body, call.maxResponseBytes);
    const headers = textHeaders(response.headers);
    return { outcome: { kind: 'responded', status, headers, body }, hasBegun: true };
  } catch (failure) {
    const reason = messageOf(signal.aborted ? signal.reason : failure);
    const cause = status === undefined ? reason : `HTTP ${status}, but ${reason}`;
    return { outcome: { kind: 'unknown', cause }, hasBegun: status !== undefined };
  }
}
