import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:https';
import { after, test } from 'node:test';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import { startSimulatedMail } from '../../../../simulators/mail/mail.ts';
import { ask } from '../../../test/service/command-line.ts';
import { simulatedBucket } from '../../../test/storage/simulated-bucket.ts';
import { openTestFolder } from '../../../test/temporary-folder.ts';
import {
  TEST_CA_FILE,
  TEST_HOST_CERTIFICATE_FILE,
  TEST_HOST_KEY_FILE,
} from '../../../test/tls/certificates.ts';
import { openSellingWebsite } from '../../../test/website/selling-website.ts';
import { recordStripeEvent, STRIPE_EVENTS } from '../../billing/sweep.ts';
import { readConfig } from '../../config/config.ts';
import { openSetUp } from '../../set-up.ts';
import { reportAlive } from '../../worker/live-workers.ts';
import { examine, linesOf } from './examine.ts';
import { recordVisit } from './public-url.ts';
import type { SetUp } from './set-up.ts';

const folder = await openTestFolder();
const website = await openSellingWebsite();
const { db } = website.database;
const stripe = website.simulator;
const mail = await startSimulatedMail();
const bucket = await simulatedBucket();
const ark = await startSimulator('ark', folder.path);
const proxy = await startProxy(website.url);
Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'testsecret' });
after(async () => {
  await proxy.close();
  await ark.kill();
  await bucket.s3[Symbol.asyncDispose]();
  await mail.close();
});

/** A proxy with TLS in front of the service. `blocks`: the start of the paths that it refuses. */
async function startProxy(target: string) {
  const [key, cert] = await Promise.all([
    readFile(TEST_HOST_KEY_FILE),
    readFile(TEST_HOST_CERTIFICATE_FILE),
  ]);
  const state: { blocks?: string } = {};
  const server = createServer({ key, cert }, (incoming, response) => {
    const { url = '', method, headers } = incoming;
    if (state.blocks && url.startsWith(state.blocks)) return response.writeHead(403).end('no');
    const passed = request(target + url, { method, headers }, (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `https://localhost:${port}`,
    state,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

const ENV = {
  DATABASE_URL: website.database.url,
  DATA_DIR: folder.path,
  PUBLIC_URL: proxy.url,
  STORAGE_URL: bucket.url,
  SMTP_URL: mail.url,
  MAIL_FROM: 'Video <no-reply@example.com>',
  ADMIN_EMAILS: 'ada@example.com',
  STRIPE_SECRET_KEY: 'rk_live_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  STRIPE_BASE_URL: stripe.url,
  PROVIDER: 'ark',
  ARK_API_KEY: 'key',
  ARK_BASE_URL: `${ark.url}/api/v3`,
  PROVIDER_ALLOW: new URL(ark.url).host,
};

/** Fakes only two things: durable commits of Postgres, and a public address of `localhost`. */
async function setUpOf(env: Record<string, string | undefined> = {}, over: Partial<SetUp> = {}) {
  const durable = { fsync: 'on', synchronous_commit: 'on' };
  const query: typeof db.query = (sql, values) =>
    sql.name === 'database_durability'
      ? Promise.resolve([durable as never])
      : db.query(sql, values);
  const setUp = await openSetUp(readConfig({ ...ENV, ...env }), { ...db, query }, {});
  const ca = await readFile(TEST_CA_FILE, 'utf8');
  const resolve = async () => [{ address: '93.184.215.14', family: 4 }];
  return { ...setUp, ca, resolve, ...over };
}

function setEndpoint(change: object = {}) {
  const endpoint = { status: 'enabled', enabled_events: ['*'], ...change };
  stripe.stateOf('rk_live_1').webhookEndpoints = [
    { url: `${proxy.url}/webhooks/stripe`, ...endpoint },
  ];
}

/** Everything that a new server has to get first. */
async function makeReady() {
  await reportAlive(db, { id: 'worker', providers: ['ark'], ingestSlots: 1 });
  setEndpoint();
  const event = { id: 'evt_1', type: 'product.created' };
  await recordStripeEvent(db, event as Parameters<typeof recordStripeEvent>[1]);
}

const lineOf = async (setUp: SetUp, check: string) => (await linesOf(setUp, check))[0];

test('a fresh server has things to do; a visit from outside is the last one before selling', async () => {
  const bare = await examine(await setUpOf(BARE));
  assert.deepEqual([bare.ok, bare.ready_to_sell], [false, false]);
  for (const { state, todo } of bare.checks) assert.equal(todo === null, state === 'ok');
  await makeReady();
  const setUp = await setUpOf();
  const before = await examine(setUp);
  const open = before.checks.filter(({ state }) => state !== 'ok');
  const left = open.map(({ check, state }) => [check, state]);
  assert.deepEqual(left, [['reached from outside', 'not checked']]);
  assert.deepEqual([before.ok, before.ready_to_sell], [true, false]);
  for (const [address, isFromOutside] of [
    ['127.0.0.1', false],
    ['8.8.8.8', true],
  ] as const) {
    assert.equal((await visit(setUp, address)).body.is_from_outside, isFromOutside);
  }
  assert.equal((await examine(setUp)).ready_to_sell, false, 'the proxy was not visited');
  await recordVisit(db, proxy.url, '8.8.8.8');
  assert.equal((await examine(setUp)).ready_to_sell, true);
});

const BARE = {
  PUBLIC_URL: undefined,
  SMTP_URL: undefined,
  ADMIN_EMAILS: undefined,
  STRIPE_SECRET_KEY: undefined,
  STRIPE_WEBHOOK_SECRET: undefined,
  STRIPE_BASE_URL: undefined,
  PROVIDER: 'local',
};

/** Opens the link that the doctor shows. */
async function visit({ links, now }: SetUp, remoteAddress: string) {
  const url = new URL(links.linkToSetUp('visitor', now() / 1000).url);
  return website.stranger.send({ url: url.pathname + url.search, method: 'GET', remoteAddress });
}

test('a link that is forged, of another purpose or expired is refused', async () => {
  const { links, now } = await setUpOf();
  const { url } = links.linkToSetUp('doctor', now() / 1000);
  const { searchParams: right } = new URL(url);
  const old = new URL(links.linkToSetUp('doctor', now() / 1000 - 3700).url).searchParams;
  const ask = async (query: object) => {
    const asked = new URLSearchParams({ ...Object.fromEntries(right), ...query });
    const { status } = await website.stranger.get(`/console/api/set-up?${asked}`);
    return status;
  };
  assert.equal(await ask({}), 200);
  assert.equal(await ask({ by: 'visitor' }), 403);
  assert.equal(await ask({ signature: 'x' }), 403);
  assert.equal(await ask({ expires: '9'.repeat(12) }), 403);
  assert.equal(await ask({ by: "'; drop table" }), 400);
  assert.equal(await ask(Object.fromEntries(old)), 410);
});

interface Broken extends Partial<SetUp> {
  env?: Record<string, string | undefined>;
  breaks?: () => unknown;
}

const CLOSED = 'http://127.0.0.1:1';

const blocking = (blocks: string) => ({ breaks: () => Object.assign(proxy.state, { blocks }) });

const endpointWith = (change: object): Broken => ({ breaks: () => setEndpoint(change) });

const faulty = (...plan: Parameters<typeof bucket.s3.faults.plan>): Broken => ({
  breaks: () => bucket.s3.faults.plan(...plan),
});

const BROKEN: [check: string, found: RegExp, broken: Broken][] = [
  ['database', /DATABASE_VOLATILE/, { env: { DATABASE_VOLATILE: 'yes' } }],
  [
    'connections to the database',
    /needs at most 1\d{3} of/,
    { env: { DATABASE_CONNECTIONS: '1000' } },
  ],
  ['disk', /ENOTDIR|ENOENT/, { env: { DATA_DIR: '/dev/null/x' } }],
  ['worker', /none runs with PROVIDER=local/, { env: { PROVIDER: 'local' } }],
  ['PUBLIC_URL', /is not https/, { env: { PUBLIC_URL: website.url } }],
  [
    'DNS of PUBLIC_URL',
    /127\.0\.0\.1/,
    { resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
  ],
  ['certificate of PUBLIC_URL', /self-signed|unable to verify/, { ca: undefined }],
  ['certificate of PUBLIC_URL', /valid until 2124/, { now: () => Date.UTC(2124, 0) }],
  ['service at PUBLIC_URL', /something else responds \(HTTP 403\)/, blocking('/console')],
  ['service at PUBLIC_URL', /ECONNREFUSED/, { env: { PUBLIC_URL: 'https://localhost:1' } }],
  ['callbacks', /POST to \/callbacks/, blocking('/callbacks')],
  ['callbacks', /POST to \/webhooks\/stripe/, blocking('/webhooks')],
  ['storage', /videos/, faulty({ kind: 'denied', times: 50 })],
  ['storage', /AccessDenied|403/, faulty({ kind: 'denied', method: 'DELETE', times: 50 })],
  ['storage', /Checksum mismatch/, faulty({ kind: 'altered', method: 'GET' })],
  ['mail', /only in the log/, { env: { SMTP_URL: undefined } }],
  ['mail', /ECONNREFUSED/, { env: { SMTP_URL: 'smtp://127.0.0.1:1' } }],
  ['mail', /not taken/, { breaks: () => mail.behave('refuse'), mailTo: 'ada@example.com' }],
  ['operators', /nobody/, { env: { ADMIN_EMAILS: undefined } }],
  [
    'provider',
    /ark: .*401/,
    { breaks: () => ark.plan({ on: 'read', faults: [{ kind: 'refuse', status: 401 }] }) },
  ],
  ['provider', /ark: No response/, { env: { ARK_BASE_URL: CLOSED } }],
  ['provider', /test patterns/, { env: { PROVIDER: 'local' } }],
  [
    'Content Credentials',
    /the signing service: .*ECONNREFUSED/,
    {
      env: {
        CONTENT_CREDENTIALS_CERT: TEST_HOST_CERTIFICATE_FILE.pathname,
        CONTENT_CREDENTIALS_SIGNER_URL: CLOSED,
      },
    },
  ],
  ['Stripe key', /write Prices/, { breaks: () => stripe.forbidden.add('POST prices') }],
  ['Stripe webhook', /no enabled endpoint/, endpointWith({ status: 'disabled' })],
  ['Stripe webhook', /charge.refunded/, endpointWith({ enabled_events: ['invoice.paid'] })],
  ['Stripe key', /ECONNREFUSED|connection/i, { env: { STRIPE_BASE_URL: CLOSED } }],
];

test('each thing that is broken is found, with what to do', async () => {
  await makeReady();
  for (const [check, found, { env, breaks, ...over }] of BROKEN) {
    const setUp = await setUpOf(env, over);
    await breaks?.();
    const line = await lineOf(setUp, check);
    assert.equal(line?.state, 'to do', `${check}: ${line?.found}`);
    assert.match(line?.found ?? '', found);
    assert.ok(line?.todo);
    delete proxy.state.blocks;
    bucket.s3.faults.clear();
    mail.behave('take');
    stripe.forbidden.clear();
    await ark.clearPlans();
    await makeReady();
  }
});

test('what was not checked is not called wrong', async () => {
  await makeReady();
  stripe.forbidden.add('GET webhook_endpoints');
  const cases: [string, RegExp, object?][] = [
    ['Stripe webhook', /may not read/],
    ['Stripe key', /nobody pays/, { STRIPE_SECRET_KEY: 'sk_test_1' }],
    ['packs and plans', /nothing is sold/, BARE],
  ];
  for (const [check, found, env] of cases) {
    const line = await lineOf(await setUpOf(env as Record<string, string>), check);
    assert.equal(line?.state, 'not checked');
    assert.match(line.found, found);
  }
  stripe.forbidden.clear();
});

test('the mail check sends a mail to the given address', async () => {
  const setUp = await setUpOf({}, { mailTo: 'ada@example.com' });
  assert.match((await lineOf(setUp, 'mail'))?.found ?? '', /took a mail/);
  assert.match((await mail.mailTo('ada@example.com')).subject, /test/);
});

test('the command exits with 1 while something is to do', async () => {
  const { ok, checks } = await ask({ DATABASE_URL: website.database.url }, 'doctor', 1);
  assert.equal(ok, false);
  assert.ok(Array.isArray(checks) && checks.length > 15);
});

test('docs/operators/billing.md lists exactly the events that Stripe must send', async () => {
  const page = await readFile(
    new URL('../../../../docs/operators/billing.md', import.meta.url),
    'utf8',
  );
  const [, table = ''] = /\| Of \| Events \|(.*?)\n\n/s.exec(page) ?? [];
  const named = [...table.matchAll(/`([\w.]+)`/g)].map(([, type]) => type);
  assert.deepEqual(named.toSorted(), STRIPE_EVENTS.toSorted());
});
