import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InjectOptions } from 'fastify';
import type { Verb, Verbs } from '../../src/operator/verb/verb.ts';
import { NOUNS } from '../../src/operator/verbs/list.ts';
import { LONG } from '../long.ts';
import { openSellingWebsite } from './selling-website.ts';
import { ORIGIN, type TestVisitor } from './website.ts';

const website = await openSellingWebsite();

/** Texts that no route expects. */
const TEXTS = [
  '',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  "' or 1=1 --",
  '%',
  'null',
  'NaN',
  '-1',
  '1e999',
  '9'.repeat(18),
  '9'.repeat(40),
  '0000-01-01',
  '9999-12-31',
  '275760-09-13',
  '2026-02-30',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59-14:00',
  '2026-02-30 10:00:00+00 task_x',
  '0000-01-01 10:00:00+00 task_x',
  '2026-01-01 10:00:00+23:59 task_x',
  '2026-01-01 24:00:00+00 task_x',
  '__proto__',
  'upload:obj_\0',
  `obj_${'x'.repeat(90)}`,
  '=cmd()|x',
  '<script>alert(1)</script>',
];
const VALUES = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  2 ** 53,
  [],
  {},
  [null],
  [['\0']],
  { a: '\0' },
  ...TEXTS,
];

/** What a route takes, as far as its schema says. */
interface Schema {
  properties?: Record<string, Schema>;
  const?: unknown;
  enum?: unknown[];
}

/** Values that pass, so that a request gets past its schema with one value that should not. */
const PLAUSIBLE: Record<string, unknown> = {
  email: 'a@b.example',
  code: '12345678',
  name: 'A name',
  reason: 'ticket 1',
  id: 'abc',
  rawId: 'abc',
  type: 'public-key',
  response: {},
  credits: 1,
  reference: 'r',
  kind: 'paid',
  pack_id: 'small',
  plan_id: 'small',
  below: 5,
  monthly_limit: 5000,
  provider: 'local',
  job_id: 'j',
  decision: 'failed',
  model: 'video-2.0',
  resolution: '720p',
  duration: 5,
  mode: 'text_to_video',
  prompt: 'A fox runs',
  reference_video_durations: [],
};

function plausible(schema: Schema): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {});
  const known = names.filter((name) => name in PLAUSIBLE);
  return Object.fromEntries(known.map((name) => [name, PLAUSIBLE[name]]));
}

type Sent = Pick<InjectOptions, 'payload' | 'headers'> & { url: string };

/** The requests of a route with one hostile part each. */
function* attacks(
  url: string,
  parts: { body?: Schema | undefined; query?: Schema | undefined },
): Generator<Sent> {
  const plain = url.replaceAll(/:\w+/g, 'abc');
  for (const text of url.includes(':') ? TEXTS : []) {
    yield { url: url.replaceAll(/:\w+/g, encodeURIComponent(text.toWellFormed())) };
  }
  for (const name of Object.keys(parts.query?.properties ?? {})) {
    for (const text of TEXTS) {
      yield { url: `${plain}?${name}=${encodeURIComponent(text.toWellFormed())}` };
    }
    yield { url: `${plain}?${name}=a&${name}=b` };
    yield { url: `${plain}?${name}=%ed%a0%80&${name}[]=b` };
  }
  const json = { 'content-type': 'application/json' };
  const payloads = ['', '{', 'null', '[]', '"x"', '['.repeat(30_000), '{"__proto__":{"a":1}}'];
  for (const payload of payloads) {
    yield { url: plain, payload, headers: json };
  }
  const valid = plausible(parts.body ?? {});
  for (const name of Object.keys(parts.body?.properties ?? {})) {
    for (const value of VALUES) {
      yield { url: plain, payload: JSON.stringify({ ...valid, [name]: value }), headers: json };
    }
  }
}

/** A visitor for one request, below the rate limit. */
function visitors(isOperator: boolean) {
  let sent = 0;
  let visitor: TestVisitor | undefined;
  return async (): Promise<TestVisitor> => {
    if (!visitor || sent === 200) {
      visitor = await website.signIn({ isOperator, credits: 1000 });
      sent = 0;
    }
    sent += 1;
    return visitor;
  };
}

/** Usually each eighth request: 29 texts are no multiple of it, so that each is sent somewhere. */
const SHARE = LONG ? 1 : 8;

test('no hostile text, body or cursor makes a route fail', async () => {
  const next = { session: visitors(false), operator: visitors(true) };
  const failed = new Set<string>();
  let [drawn, requests] = [0, 0];
  for (const { method, url, schema, config } of website.routes) {
    const access = config?.access ?? 'session';
    const { body, querystring: query } = (schema ?? {}) as { body?: Schema; querystring?: Schema };
    for (const attack of attacks(url, { body, query })) {
      drawn += 1;
      if (drawn % SHARE !== 0) continue;
      const visitor = await next[access === 'operator' ? 'operator' : 'session']();
      requests += 1;
      const remoteAddress = `10.${requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`;
      const idempotency = { 'idempotency-key': `attack-${requests}` };
      const { statusCode: status } = await website.app.inject({
        method: method as 'GET',
        remoteAddress,
        ...attack,
        headers: { origin: ORIGIN, cookie: visitor.cookie, ...idempotency, ...attack.headers },
      });
      const sent = `${method} ${attack.url} ${String(attack.payload).slice(0, 90)}`;
      if (status >= 500) failed.add(`${status} ${sent}`);
    }
  }
  assert.ok(requests > 3500 / SHARE, `only ${requests} requests`);
  assert.deepEqual([...failed], []);
});

const VERBS = '/console/api/operator/verbs';
/** Besides others, objects that have no text. */
const INPUTS = [null, ['1'], { toString: 1, valueOf: 2 }, 1e308, '9'.repeat(15), 'a\0b', '\ud800'];

/** The requests of a verb with one hostile field each; `account` exists. */
function* attacksOnVerb(name: string, { fields }: Verb, account: string): Generator<Sent> {
  const url = `${VERBS}/${name.replaceAll(' ', '/')}`;
  const required = Object.entries(fields).filter(([, { isOptional }]) => !isOptional);
  const valid = Object.fromEntries(
    required.map(([field, { choices }]) => {
      return [field, { ...PLAUSIBLE, account }[field] ?? choices?.[0] ?? '1'];
    }),
  );
  for (const field of Object.keys(fields)) {
    for (const value of INPUTS) {
      const payload = JSON.stringify({ reason: 'ticket 1', ...valid, [field]: value });
      yield { url, payload, headers: { 'content-type': 'application/json' } };
    }
  }
  const payload = '{"reason":"ticket 1","__proto__":{"a":1}}';
  yield { url, payload, headers: { 'content-type': 'application/json' } };
}

test('no hostile input makes an operator verb fail, and none that is no value is taken', async () => {
  const next = visitors(true);
  const { accountId } = await website.signIn();
  const send = async (attack: Sent & { method?: 'POST' }) => {
    const { cookie } = await next();
    const headers = { origin: ORIGIN, cookie, ...attack.headers };
    return (await website.app.inject({ ...attack, headers })).statusCode;
  };
  for (const name of ['constructor', '__proto__', 'tasks/constructor', '%00']) {
    assert.equal(await send({ url: `${VERBS}/${name}` }), 404, name);
  }
  const wrong = new Set<string>();
  for (const verbsOf of Object.values(NOUNS)) {
    const verbs: Verbs = await verbsOf();
    for (const [name, verb] of Object.entries(verbs)) {
      for (const attack of attacksOnVerb(name, verb, accountId)) {
        const status = await send({ ...attack, method: 'POST' });
        const isTaken = status < 400 && String(attack.payload).includes('["1"]');
        if (status >= 500 || isTaken) wrong.add(`${status} ${name} ${attack.payload}`);
      }
    }
  }
  assert.deepEqual([...wrong], []);
});
