/** A program that runs clients of the API, each on a keep-alive connection of its own. */
import { type HttpConnection, openHttpConnection } from './http-connection.ts';
import { serveRequests } from './program.ts';
import { actTimes, measure, type Sample } from './sample.ts';

/** An API key, and a task that it may read, for clients that read. */
export interface Target {
  secret: string;
  taskId?: string;
}

export interface HttpClientsSetup {
  url: string;
  clients: number;
  act: 'create' | 'read';
  /** Used in turn, so that no key comes near its rate limit. */
  targets: Target[];
}

/** For how long the clients act, or how often all together. */
export type HttpClientsLoad = { seconds: number } | { acts: number };

/** Every response must have this status; another one ends the round with an error. */
const EXPECTED = { create: 202, read: 200 };

serveRequests<HttpClientsSetup, HttpClientsLoad, Sample>(async (setup) => {
  const url = new URL(setup.url);
  const connections = await Promise.all(
    Array.from({ length: setup.clients }, () => openHttpConnection(url)),
  );
  const requestFor = { create: createRequest, read: readRequest }[setup.act];
  const nextTarget = inTurn(setup.targets);
  const act = async (client: number) => {
    const status = await pick(connections, client).send(requestFor(url, nextTarget()));
    if (status !== EXPECTED[setup.act]) throw new Error(`a ${setup.act} got ${status}`);
  };
  return {
    handle(load) {
      const { clients } = setup;
      if ('seconds' in load) return measure({ clients, seconds: load.seconds }, act);
      return actTimes({ clients, acts: load.acts }, act);
    },
    close: async () => {
      for (const connection of connections) connection.close();
    },
  };
});

function pick(connections: HttpConnection[], client: number): HttpConnection {
  const connection = connections[client];
  if (!connection) throw new Error(`there is no client ${client}`);
  return connection;
}

function inTurn<T>(values: T[]): () => T {
  let turn = 0;
  return () => {
    const value = values[turn % values.length];
    if (value === undefined) throw new Error('there are no targets');
    turn += 1;
    return value;
  };
}

const BODY = JSON.stringify({
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-mini',
});

function createRequest(url: URL, { secret }: Target): string {
  return (
    `POST /api/v1/video/generations HTTP/1.1\r\nHost: ${url.host}\r\n` +
    `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\n` +
    `Idempotency-Key: ${crypto.randomUUID()}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
  );
}

function readRequest(url: URL, { secret, taskId }: Target): string {
  return (
    `GET /api/v1/tasks/${taskId} HTTP/1.1\r\nHost: ${url.host}\r\n` +
    `Authorization: Bearer ${secret}\r\n\r\n`
  );
}
