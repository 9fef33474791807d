import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { closeServer, listenOn } from '../kit/http-server.ts';
import { type PageResponse, page } from './pages.ts';
import {
  type ApiResponse,
  type Fault,
  type Faults,
  openModes,
  refused,
  respondToCall,
} from './respond.ts';
import { newObjectId } from './state.ts';
import { createWebhooks } from './webhooks.ts';

export type SimulatedStripe = Awaited<ReturnType<typeof startSimulatedStripe>>;

/** Starts a Stripe on the loopback, with accounts that have sold nothing yet. */
export async function startSimulatedStripe(options: { port?: number; chance?: () => number } = {}) {
  const chance = options.chance ?? Math.random;
  const webhooks = createWebhooks(chance);
  const faults: Faults = { next: [], share: {} };
  const modes = openModes(webhooks.emit);
  const forbidden = new Set<string>();
  const parts = { modes, faults, chance, forbidden };
  const server = createServer((request, response) => {
    void serve(parts, request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 1000;
  const url = await listenOn(server, { port: options.port });
  modes.baseUrl = url;
  const failNext = (fault: Fault, count = 1) => {
    faults.next.push(...Array.from({ length: count }, () => fault));
  };
  const stateOf = (key: string) => modes.of(key).state;
  return {
    url,
    /** What the key `sk_test_1` sees: the test mode of the first account. */
    state: stateOf('sk_test_1'),
    /** What another key sees: `sk_live_1` the live mode, `sk_live_other_1` another account. */
    stateOf,
    webhooks,
    faults,
    forbidden,
    /** The fault befalls the next calls that it fits. */
    failNext,
    /** The next responses of writing calls are lost after their work is done. */
    loseResponses(count: number) {
      faults.next = faults.next.filter(({ kind }) => kind !== 'lost');
      failNext({ kind: 'lost' }, count);
    },
    async close() {
      await closeServer(server);
      await webhooks.idle();
    },
  };
}

type Parts = Parameters<typeof respondToCall>[0];

async function serve(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { modes } = parts;
  const body = await readText(request);
  const url = new URL(request.url ?? '/', 'http://simulator');
  try {
    if (url.pathname.startsWith('/v1/')) {
      const made = respondToCall(parts, request, { url, body });
      if (made === 'lost') response.destroy();
      else sendJson(response, made);
    } else {
      const action = new URLSearchParams(body).get('action') ?? undefined;
      const { state } = modes.having(url.pathname.split('/').at(-1));
      sendPage(response, page(state, { path: url.pathname, action }));
    }
  } catch (error) {
    sendJson(response, refused(error));
  }
}

function sendPage(response: ServerResponse, shown: PageResponse): void {
  if ('location' in shown) response.writeHead(303, { location: shown.location }).end();
  else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(shown.html);
}

function sendJson(response: ServerResponse, { status, body, headers }: ApiResponse): void {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'request-id': newObjectId('req_'),
      ...headers,
    })
    .end(JSON.stringify(body));
}
