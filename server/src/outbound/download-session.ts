import type { Client } from 'undici';
import { OutboundError, refusalFor } from './refusal.ts';

/** One download from first look-up to last byte: everything that must end when it ends. */
export interface DownloadSession {
  /** Aborts when the caller gives up, the deadline passes or the guarded fetch closes. */
  signal: AbortSignal;
  /** Hands over a connection, to be closed with the session at the latest. */
  addClient(client: Client): void;
  /** Closes one connection; resolves when its socket is gone. */
  closeClient(client: Client): Promise<void>;
  /** Ends the session, with a reason when it is cut short; resolves when its sockets are gone. */
  end(reason?: unknown): Promise<void>;
  /** What a failure means: why the session was cut short if it was, or the network's fault. */
  failureOf(failure: unknown): unknown;
}

export function beginDownloadSession(options: {
  signal?: AbortSignal | undefined;
  deadlineSeconds: number;
  onEnd: (session: DownloadSession) => void;
}): DownloadSession {
  const stop = new AbortController();
  const clients = new Set<Client>();
  const deadline = setTimeout(
    () => session.end(deadlinePassed(options.deadlineSeconds)),
    options.deadlineSeconds * 1000,
  );
  const callerGaveUp = () => void session.end(options.signal?.reason);
  const session: DownloadSession = {
    signal: stop.signal,
    addClient: (client) => clients.add(client),
    async closeClient(client) {
      clients.delete(client);
      await client.destroy();
    },
    async end(reason) {
      clearTimeout(deadline);
      options.signal?.removeEventListener('abort', callerGaveUp);
      if (reason !== undefined) stop.abort(reason);
      await Promise.all([...clients].map((client) => client.destroy()));
      options.onEnd(session);
    },
    failureOf: (failure) => (stop.signal.aborted ? stop.signal.reason : refusalFor(failure)),
  };
  if (options.signal?.aborted) callerGaveUp();
  else options.signal?.addEventListener('abort', callerGaveUp);
  return session;
}

function deadlinePassed(deadlineSeconds: number): OutboundError {
  const message = `The download took longer than ${deadlineSeconds} seconds`;
  return new OutboundError('too_slow', message, { details: { deadline_seconds: deadlineSeconds } });
}
