import type { Client } from 'undici';
import type { LookupClient } from './host-lookup.ts';
import { OutboundError, refusalFor } from './refusal.ts';

/** One download, from DNS to the last byte, with its timer and its connections. */
export interface DownloadSession {
  /** Aborts when the caller aborts, the deadline passes or the guarded fetch closes. */
  signal: AbortSignal;
  /** The customer whose look-ups are limited; undefined if no customer named the URL. */
  client: LookupClient | undefined;
  /** Adds a connection, which is closed when the session ends, if not earlier. */
  addClient(client: Client): void;
  /** Closes one connection; resolves when its socket is closed. */
  closeClient(client: Client): Promise<void>;
  /** Ends the session, with a reason if it ends early; resolves when its sockets are closed. */
  end(reason?: unknown): Promise<void>;
  /** The error to throw for a failure: the reason if the session ended early, else a refusal. */
  failureOf(failure: unknown): unknown;
}

export function beginDownloadSession(options: {
  signal?: AbortSignal | undefined;
  client?: LookupClient | undefined;
  deadlineSeconds: number;
  onEnd: (session: DownloadSession) => void;
}): DownloadSession {
  const stop = new AbortController();
  const clients = new Set<Client>();
  const deadline = setTimeout(
    () => session.end(deadlinePassed(options.deadlineSeconds)),
    options.deadlineSeconds * 1000,
  );
  const onCallerAbort = () => void session.end(options.signal?.reason);
  const session: DownloadSession = {
    signal: stop.signal,
    client: options.client,
    addClient: (client) => void clients.add(client),
    async closeClient(client) {
      clients.delete(client);
      await client.destroy();
    },
    async end(reason) {
      clearTimeout(deadline);
      options.signal?.removeEventListener('abort', onCallerAbort);
      if (reason !== undefined) stop.abort(reason);
      await Promise.all([...clients].map((client) => client.destroy()));
      options.onEnd(session);
    },
    failureOf: (failure) => (stop.signal.aborted ? stop.signal.reason : refusalFor(failure)),
  };
  if (options.signal?.aborted) onCallerAbort();
  else options.signal?.addEventListener('abort', onCallerAbort);
  return session;
}

function deadlinePassed(deadlineSeconds: number): OutboundError {
  const message = `The host took longer than ${deadlineSeconds} seconds`;
  return new OutboundError('too_slow', message, { details: { deadline_seconds: deadlineSeconds } });
}
