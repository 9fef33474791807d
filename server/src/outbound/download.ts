import type { Client } from 'undici';
import { OutboundError, refusalFor } from './refusal.ts';

/** One download from first look-up to last byte: everything that must end when it ends. */
export interface Visit {
  /** Aborts when the caller gives up, the deadline passes or the guarded fetch closes. */
  signal: AbortSignal;
  /** Hands over a connection, to be closed with the visit at the latest. */
  keep(client: Client): void;
  /** Closes one connection; resolves when its socket is gone. */
  drop(client: Client): Promise<void>;
  /** Ends the visit, with a reason when it is cut short; resolves when its sockets are gone. */
  end(reason?: unknown): Promise<void>;
  /** What a failure means: why the visit was cut short if it was, or the network's fault. */
  verdict(failure: unknown): unknown;
}

export function beginVisit(options: {
  signal?: AbortSignal | undefined;
  deadlineSeconds: number;
  onEnd: (visit: Visit) => void;
}): Visit {
  const stop = new AbortController();
  const clients = new Set<Client>();
  const deadline = setTimeout(
    () => visit.end(deadlinePassed(options.deadlineSeconds)),
    options.deadlineSeconds * 1000,
  );
  const callerGaveUp = () => void visit.end(options.signal?.reason);
  const visit: Visit = {
    signal: stop.signal,
    keep: (client) => clients.add(client),
    async drop(client) {
      clients.delete(client);
      await client.destroy();
    },
    async end(reason) {
      clearTimeout(deadline);
      options.signal?.removeEventListener('abort', callerGaveUp);
      if (reason !== undefined) stop.abort(reason);
      await Promise.all([...clients].map((client) => client.destroy()));
      options.onEnd(visit);
    },
    verdict: (failure) => (stop.signal.aborted ? stop.signal.reason : refusalFor(failure)),
  };
  if (options.signal?.aborted) callerGaveUp();
  else options.signal?.addEventListener('abort', callerGaveUp);
  return visit;
}

function deadlinePassed(deadlineSeconds: number): OutboundError {
  const words = `The download took longer than ${deadlineSeconds} seconds`;
  return new OutboundError('too_slow', words, { details: { deadline_seconds: deadlineSeconds } });
}
