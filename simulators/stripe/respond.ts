import type { IncomingMessage } from 'node:http';
import { CALLS, type Call, expand } from './calls.ts';
import { noSuch, parseForm, StripeRefusal, textsOf } from './form.ts';
import { createState, type Emit, type State } from './state.ts';

export interface ApiResponse {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

/** An account in test or live mode: its objects, and its responses by Idempotency-Key. */
export interface Mode {
  state: State;
  responses: Map<string, { request: string; response: ApiResponse }>;
}

const KEY = /^(sk|rk)_(test|live)_(?:([a-z]+)_)?\w+$/;

/** All accounts, in both modes. A key `sk_live_other_1` is one of the account `acct_other`. */
export function openModes(emit: Emit) {
  const modes = new Map<string, Mode>();
  let latest = '';
  return {
    /** The address of the simulator. */
    baseUrl: '',
    of(key: string): Mode {
      const [, , mode = 'test', account = 'first'] = KEY.exec(key) ?? [];
      const name = `${mode} ${account}`;
      const options = { account: `acct_${account}`, livemode: mode === 'live' };
      const found = modes.get(name) ?? { state: createState(emit, options), responses: new Map() };
      found.state.baseUrl = this.baseUrl;
      modes.set(name, found);
      latest = key;
      return found;
    },
    /** The account and mode that have this object; if none have it, those of the latest call. */
    having(id: string | undefined): Mode {
      const found = [...modes.values()].find(({ state }) => state.find(id ?? '') !== undefined);
      return found ?? this.of(latest);
    },
  };
}

/**
 * What may go wrong with a writing call.
 * `lost`: it is done, and its response is lost.
 * `saved-500`: Stripe saves a 500 under its Idempotency-Key, and repeats it. Whether it is done,
 * see `isDone`.
 * `conflict`: 409, another call with its key is in progress. `rate-limit`: 429. `outage`: a 500.
 * In these three cases nothing is done, and nothing is saved.
 */
export interface Fault {
  kind: 'lost' | 'saved-500' | 'conflict' | 'rate-limit' | 'outage';
  /** Such as `POST customers`; without it, any writing call. */
  call?: string;
  /** Whether the work of a saved 500 is done all the same. */
  isDone?: boolean;
}

type FaultKind = Fault['kind'];

export interface Faults {
  /** These befall the next calls that they fit, one each. */
  next: Fault[];
  /** The share of the other writing calls that each befalls, from 0 to 1. */
  share: Partial<Record<FaultKind, number>>;
}

/** The fault that befalls a call now; undefined: none. */
function drawFault(faults: Faults, call: string, chance: () => number): Fault | undefined {
  const found = faults.next.findIndex((fault) => (fault.call ?? call) === call);
  if (found >= 0) return faults.next.splice(found, 1)[0];
  let rest = chance();
  for (const kind of ['lost', 'saved-500', 'conflict', 'rate-limit', 'outage'] as const) {
    rest -= faults.share[kind] ?? 0;
    if (rest < 0) return { kind, isDone: chance() < 0.5 };
  }
  return undefined;
}

interface Parts {
  /** What a restricted key may not do, such as `POST prices`. */
  forbidden: Set<string>;
  modes: ReturnType<typeof openModes>;
  faults: Faults;
  chance: () => number;
}

/** A call of the API. The same Idempotency-Key gets the same response, without more work. */
export function respondToCall(
  { modes, faults, chance, forbidden }: Parts,
  request: IncomingMessage,
  { url, body }: { url: URL; body: string },
): ApiResponse | 'lost' {
  const method = request.method ?? '';
  const secret = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  if (!KEY.test(secret)) return error(401, 'You did not provide a valid API key.');
  const [, resource = ''] = /^\/v1\/(\w+)/.exec(url.pathname) ?? [];
  if (forbidden.has(`${method} ${resource}`)) return FORBIDDEN;
  const found = CALLS.find((call) => call.method === method && call.path.test(url.pathname));
  if (!found) return refused(noSuch('call', `${method} ${url.pathname}`));
  if (found.isForbidden && secret.startsWith('rk_')) {
    return FORBIDDEN;
  }
  const mode = modes.of(secret);
  const name = `${method} ${found.path.source.replace('([^/]+)', ':id').replaceAll(/[\\^$]/g, '')}`;
  const work = () => {
    const [, id = ''] = found.path.exec(url.pathname) ?? [];
    return workOf(mode.state, found, { id, text: method === 'POST' ? body : url.search });
  };
  if (method !== 'POST') return work();
  const key = request.headers['idempotency-key']?.toString();
  const asked = `${method} ${url.pathname} ${body}`;
  const fault = drawFault(faults, name.replace('/v1/', ''), chance);
  return once(mode, { key, asked, fault }, work);
}

function once(
  { responses }: Mode,
  { key, asked, fault }: { key: string | undefined; asked: string; fault: Fault | undefined },
  work: () => ApiResponse,
): ApiResponse | 'lost' {
  if (fault?.kind === 'conflict') return CONFLICT;
  if (fault?.kind === 'rate-limit') return RATE_LIMITED;
  if (fault?.kind === 'outage') return refused(new Error('An unknown error occurred.'));
  const before = key === undefined ? undefined : responses.get(key);
  if (before && before.request !== asked) return OTHER_REQUEST;
  const made = before?.response ?? (fault?.kind === 'saved-500' ? failed(fault, work) : work());
  if (key !== undefined && isSaved(made)) responses.set(key, { request: asked, response: made });
  if (fault?.kind === 'lost') return 'lost';
  return before ? { ...made, headers: { ...made.headers, 'idempotent-replayed': 'true' } } : made;
}

/** Stripe saves nothing of a call whose parameters it refuses before it begins. */
function isSaved({ body }: ApiResponse): boolean {
  const { code } = Object('error' in body ? body.error : undefined) as { code?: unknown };
  return !String(code).startsWith('parameter_');
}

function failed({ isDone }: Fault, work: () => ApiResponse): ApiResponse {
  if (isDone) work();
  const body = { error: { type: 'api_error', message: 'An unknown error occurred.' } };
  // As Stripe does where another try with the same key would get the same response.
  return { status: 500, body, headers: { 'stripe-should-retry': 'false' } };
}

function error(status: number, message: string, code?: string): ApiResponse {
  const body = { error: { type: 'invalid_request_error', ...(code && { code }), message } };
  return { status, body };
}

const FORBIDDEN = error(403, 'The provided key does not have the required permissions.');

const CONFLICT = error(
  409,
  'There is currently another in-progress request using this Idempotent Key.',
  'idempotency_key_in_use',
);

const RATE_LIMITED = error(429, 'Request rate limit exceeded.', 'rate_limit');

const OTHER_REQUEST: ApiResponse = {
  status: 400,
  body: {
    error: {
      type: 'idempotency_error',
      message: 'Keys for idempotent requests can only be used with the same parameters.',
    },
  },
};

function workOf(
  state: State,
  { params: allowed, work: run }: Call,
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

export function refused(error: unknown): ApiResponse {
  if (error instanceof StripeRefusal) return { status: error.status, body: { error: error.body } };
  return { status: 500, body: { error: { type: 'api_error', message: String(error) } } };
}
