import type { Client } from 'undici';
import type { LookupCustomer } from './host-lookup.ts';
import { OutboundError, refusalFor } from './refusal.ts';

/** One download, from DNS to the last byte, with its timer and its connections. */
export type DownloadSession = ReturnType<typeof beginDownloadSession>;

/** Takes over a connection, which the session then does not close. */
type Keep = (client: Client) => void;

export function beginDownloadSession(options: {
  signal?: AbortSignal | undefined;
  /** The customer whose look-ups are limited; undefined if no customer named the URL. */
  customer?: LookupCustomer | undefined;
  deadlineSeconds: number;
  onEnd: () => void;
}) {
  const stop = new AbortController();
  const connections = new Map<Client, Keep | undefined>();
  /** Ends the session, with a reason if it ends early; resolves when its sockets are closed. */
  const end = async (reason?: unknown) => {
    clearTimeout(deadline);
    options.signal?.removeEventListener('abort', onCallerAbort);
    if (reason !== undefined) stop.abort(reason);
    await Promise.all([...connections.keys()].map((client) => client.destroy()));
    options.onEnd();
  };
  const { deadlineSeconds } = options;
  const deadline = setTimeout(() => end(deadlinePassed(deadlineSeconds)), deadlineSeconds * 1000);
  const onCallerAbort = () => void end(options.signal?.reason);
  if (options.signal?.aborted) onCallerAbort();
  else options.signal?.addEventListener('abort', onCallerAbort);
  return {
    /** Aborts when the caller aborts, the deadline passes or the guarded fetch closes. */
    signal: stop.signal,
    customer: options.customer,
    /** Adds a connection, which is closed when the session ends, if not earlier. */
    addConnection: (client: Client, keep?: Keep) => void connections.set(client, keep),
    /** Hands over the connections that may be kept, once the response was read to its end. */
    keepConnections() {
      for (const [client, keep] of connections) {
        if (keep) connections.delete(client);
        keep?.(client);
      }
    },
    async closeConnection(client: Client) {
      connections.delete(client);
      await client.destroy();
    },
    end,
    /** The error to throw: the reason if the session ended early, else a refusal. */
    failureOf: (failure: unknown) =>
      stop.signal.aborted ? stop.signal.reason : refusalFor(failure),
  };
}

function deadlinePassed(deadlineSeconds: number): OutboundError {
  const message = `The host took longer than ${deadlineSeconds} seconds`;
  return new OutboundError('too_slow', message, { details: { deadline_seconds: deadlineSeconds } });
}
