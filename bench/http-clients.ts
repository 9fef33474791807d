/** A program that runs clients of an API, each on a keep-alive connection of its own. */
import { openHttpConnection } from './http-connection.ts';
import { type Load, runClients, type Sample } from './load.ts';
import { serveRequests } from './program.ts';

/** An API key, and a task that it may read, for clients that read. */
export interface Target {
  secret: string;
  taskId?: string;
}

export interface HttpClientsSetup {
  url: string;
  clients: number;
  /** A request to our API; or the text of one to another API, which must get 200. */
  act: 'create' | 'read' | { text: string };
  /** Used in turn, so that no key comes near its rate limit. */
  targets: Target[];
}

serveRequests<HttpClientsSetup, Load, Sample>(async ({ url, clients, act, targets }) => {
  const connections = await Promise.all(
    Array.from({ length: clients }, () => openHttpConnection(new URL(url))),
  );
  const { host } = new URL(url);
  const textFor = (target: Target) => {
    if (act === 'create') return createRequest(host, target);
    return act === 'read' ? readRequest(host, target) : act.text;
  };
  const expected = act === 'create' ? 202 : 200;
  let turn = 0;
  const send = async (client: number) => {
    const target = targets[turn++ % targets.length] as Target;
    const status = await connections[client]?.send(textFor(target));
    if (status !== expected) throw new Error(`a request got ${status}`);
  };
  return {
    handle: (load) => runClients(clients, load, send),
    close: async () => {
      for (const connection of connections) connection.close();
    },
  };
});

const BODY = JSON.stringify({
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-mini',
});

function createRequest(host: string, { secret }: Target): string {
  return (
    `POST /api/v1/video/generations HTTP/1.1\r\nHost: ${host}\r\n` +
    `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\n` +
    `Idempotency-Key: ${crypto.randomUUID()}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
  );
}

function readRequest(host: string, { secret, taskId }: Target): string {
  return (
    `GET /api/v1/tasks/${taskId} HTTP/1.1\r\nHost: ${host}\r\n` +
    `Authorization: Bearer ${secret}\r\n\r\n`
  );
}
