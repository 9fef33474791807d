import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { until } from '../until.ts';

/**
 * Sends each request to one of several servers in turn, as the proxy of a deployment does. When a
 * server gives no response, the request goes to another one: every POST of the API has an
 * Idempotency-Key.
 */
export interface LoadBalancer extends AsyncDisposable {
  readonly port: number;
  /** The server of this name is reached at this address from now on. */
  use(name: string, url: string): void;
  /** Sends nothing more to this server, and resolves when its POSTs have their responses. */
  drain(name: string): Promise<void>;
}

export async function startLoadBalancer(): Promise<LoadBalancer> {
  const targets = new Map<string, string>();
  const posts = new Map<string, number>();
  const countPost = (name: string, change: number) =>
    posts.set(name, (posts.get(name) ?? 0) + change);
  let turn = 0;

  const serve = async (received: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(received);
    const isPost = received.method === 'POST';
    for (let failures = 0; failures < 2 * targets.size; ) {
      turn += 1;
      const [name, url] = [...targets][turn % targets.size] ?? ['', ''];
      if (isPost) countPost(name, 1);
      const answer = await forward(url, received, body).finally(() => {
        if (isPost) countPost(name, -1);
      });
      if (answer === undefined) {
        // A read that waits can outlive one drained server after another.
        if (targets.get(name) === url) failures += 1;
        continue;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers as OutgoingHttpHeaders);
      return await pipeline(answer, response).catch(() => response.destroy());
    }
    response.writeHead(502).end();
  };
  const server = createServer((received, response) => {
    serve(received, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    use: (name, url) => void targets.set(name, url),
    async drain(name) {
      targets.delete(name);
      await until(async () => !posts.get(name));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** @returns undefined when the server gives no response */
function forward(
  url: string,
  { method, url: path, headers }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    const sent = request(new URL(path ?? '/', url), { method, headers, agent: false }, resolve);
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}
