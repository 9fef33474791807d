import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { closeServer, listenOn } from '../kit/http-server.ts';
import { CALLS, expand } from './calls.ts';
import { control } from './controls.ts';
import { noSuch, parseForm, StripeRefusal, textsOf } from './form.ts';
import { type PageResponse, page } from './pages.ts';
import { createState, newObjectId, type State } from './state.ts';
import { createWebhooks, type Webhooks } from './webhooks.ts';

export interface SimulatedStripe {
  url: string;
  state: State;
  webhooks: Webhooks;
  /** How many calls of the API arrived, by method and path without ids. */
  calls: Map<string, number>;
  /** The next responses of writing calls are lost after their work is done. */
  loseResponses(count: number): void;
  close(): Promise<void>;
}

interface Simulator extends Omit<SimulatedStripe, 'url' | 'close' | 'loseResponses'> {
  /** The responses by Idempotency-Key. */
  responses: Map<string, { request: string; response: ApiResponse }>;
  toLose: number;
}

interface ApiResponse {
  status: number;
  body: object;
}

/** Starts a Stripe on the loopback, with an account that has sold nothing yet. */
export async function startSimulatedStripe(
  options: { port?: number; chance?: () => number } = {},
): Promise<SimulatedStripe> {
  const webhooks = createWebhooks(options.chance ?? Math.random);
  const state = createState(webhooks.emit);
  const simulator: Simulator = {
    ...{ state, webhooks, calls: new Map(), responses: new Map(), toLose: 0 },
  };
  const server = createServer((request, response) => {
    void serve(simulator, request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 1000;
  state.baseUrl = await listenOn(server, { port: options.port });
  return {
    ...{ url: state.baseUrl, state, webhooks, calls: simulator.calls },
    loseResponses: (count) => {
      simulator.toLose = count;
    },
    async close() {
      await closeServer(server);
      await webhooks.idle();
    },
  };
}

async function serve(
  simulator: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { state, webhooks } = simulator;
  const body = await readText(request);
  const url = new URL(request.url ?? '/', 'http://simulator');
  const [, first, name = ''] = url.pathname.split('/');
  try {
    if (first === 'v1') {
      const made = respondToCall(simulator, request, { url, body });
      if (request.method === 'POST' && simulator.toLose > 0) {
        simulator.toLose -= 1;
        response.destroy();
      } else sendJson(response, made);
    } else if (first === '_simulator') {
      const given = body === '' ? {} : JSON.parse(body);
      sendJson(response, { status: 200, body: control(state, webhooks, { name, body: given }) });
    } else {
      const action = new URLSearchParams(body).get('action') ?? undefined;
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

function refused(error: unknown): ApiResponse {
  if (error instanceof StripeRefusal) return { status: error.status, body: { error: error.body } };
  return { status: 500, body: { error: { type: 'api_error', message: String(error) } } };
}

/** A call of the API. The same Idempotency-Key gets the same response, without more work. */
function respondToCall(
  { state, calls, responses }: Simulator,
  request: IncomingMessage,
  { url, body }: { url: URL; body: string },
): ApiResponse {
  const method = request.method ?? '';
  if (!/^Bearer (sk|rk)_\w+$/.test(request.headers.authorization ?? '')) {
    const message = 'You did not provide a valid API key.';
    return { status: 401, body: { error: { type: 'invalid_request_error', message } } };
  }
  const key = method === 'POST' ? request.headers['idempotency-key']?.toString() : undefined;
  const asked = `${method} ${url.pathname} ${body}`;
  const before = key === undefined ? undefined : responses.get(key);
  if (before && before.request !== asked) {
    const message = 'Keys for idempotent requests can only be used with the same parameters.';
    return { status: 400, body: { error: { type: 'idempotency_error', message } } };
  }
  if (before) return before.response;
  const found = CALLS.find((call) => call.method === method && call.path.test(url.pathname));
  if (!found) throw noSuch('call', `${method} ${url.pathname}`);
  const name = `${method} ${found.path.source.replace('([^/]+)', ':id').replaceAll(/[\\^$]/g, '')}`;
  calls.set(name, (calls.get(name) ?? 0) + 1);
  const [, id = ''] = found.path.exec(url.pathname) ?? [];
  const response = work(state, found, { id, text: method === 'POST' ? body : url.search });
  if (key !== undefined) responses.set(key, { request: asked, response });
  return response;
}

function work(
  state: State,
  { params: allowed, work: run }: (typeof CALLS)[number],
  { id, text }: { id: string; text: string },
): ApiResponse {
  try {
    const params = parseForm(text, [...allowed, 'expand']);
    const made = run(state, decodeURIComponent(id), params);
    return { status: 200, body: structuredClone(expand(state, made, textsOf(params, 'expand'))) };
  } catch (error) {
    return structuredClone(refused(error));
  }
}

function sendJson(response: ServerResponse, { status, body }: ApiResponse): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'request-id': newObjectId('req_') })
    .end(JSON.stringify(body));
}
