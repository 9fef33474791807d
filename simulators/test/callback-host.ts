import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { closeServer, listenOn } from '../kit/http-server.ts';

/** A POST as it arrived at a callback URL. */
export interface ReceivedCallback {
  body: Uint8Array;
  headers: Record<string, string | undefined>;
}

/** A local HTTP server that records callbacks. */
export type CallbackHost = Awaited<ReturnType<typeof startCallbackHost>>;

export async function startCallbackHost() {
  const received = new Map<string, ReceivedCallback[]>();
  const events = new EventEmitter();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const id = request.url?.split('/').at(-1) ?? '';
    const callback = { body, headers: single(request.headers) };
    received.set(id, [...(received.get(id) ?? []), callback]);
    response.end();
    events.emit('arrived');
  });
  const address = await listenOn(server);
  const callbacksOf = (id: string) => received.get(id) ?? [];
  return {
    /** A callback URL for the given id, which is the last part of its path. */
    url: (id: string) => `${address}/callbacks/${id}`,
    /** The callbacks that have arrived for an id, oldest first. */
    received: callbacksOf,
    /** Resolves when that many have arrived for an id; rejects after 15 seconds. */
    async arrived(id: string, count: number) {
      const signal = AbortSignal.timeout(15_000);
      while (callbacksOf(id).length < count) await once(events, 'arrived', { signal });
      return callbacksOf(id);
    },
    close: () => closeServer(server),
  };
}

function single(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, value?.toString()]));
}
