import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';

/** A POST as it arrived at a callback URL. */
export interface ReceivedCallback {
  body: Uint8Array;
  headers: Record<string, string | undefined>;
}

/** Where callbacks of the suite arrive. */
export interface CallbackHost {
  /** The callback URL of an attempt. */
  url(attemptId: string): string;
  /** What has arrived for it so far, oldest first. */
  received(attemptId: string): ReceivedCallback[];
  /** Resolves once that many have arrived for it; rejects after 15 seconds. */
  arrived(attemptId: string, count: number): Promise<ReceivedCallback[]>;
  close(): Promise<void>;
}

export async function startCallbackHost(): Promise<CallbackHost> {
  const received = new Map<string, ReceivedCallback[]>();
  const news = new EventEmitter();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const attemptId = request.url?.split('/').at(-1) ?? '';
    const callback = { body, headers: single(request.headers) };
    received.set(attemptId, [...(received.get(attemptId) ?? []), callback]);
    response.end();
    news.emit('arrived');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const callbacksOf = (attemptId: string) => received.get(attemptId) ?? [];
  return {
    url: (attemptId) => `http://127.0.0.1:${port}/callbacks/${attemptId}`,
    received: callbacksOf,
    async arrived(attemptId, count) {
      const signal = AbortSignal.timeout(15_000);
      while (callbacksOf(attemptId).length < count) await once(news, 'arrived', { signal });
      return callbacksOf(attemptId);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function single(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, value?.toString()]));
}
