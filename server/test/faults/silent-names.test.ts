import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statement } from '../../src/database/database.ts';
import { type Client, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { type Answer, startDnsServer } from '../dns-server.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import { FRAMES } from '../media/refused-media.ts';
import { assertBalance } from '../service/end-state.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const CREDITS = 100_000;
const NOT_SUBMITTED = statement(
  'test_not_submitted',
  `select id from tasks where phase in ('reserved', 'ingesting', 'submitting')`,
);

/** As many files as a request may name, each on another host. */
function silentRequest(request: number) {
  const urls = (kind: string, count: number) =>
    Array.from({ length: count }, (_, n) => `https://${kind}${n}.r${request}.silent.test/file`);
  return {
    ...SMALLEST,
    mode: 'media-to-video',
    reference_image_urls: urls('image', 8),
    reference_video_urls: urls('video', 3),
    reference_video_durations: [2, 2, 2],
  };
}

function answerTo(name: string): Answer | undefined {
  return name === 'media.test' ? { a: ['127.0.0.1'] } : { silent: 'all' };
}

/** The database by its name, as in most deployments: its connections need a look-up too. */
function byName(database: TestDatabase): string {
  const url = new URL(database.url);
  url.hostname = 'localhost';
  return url.href;
}

/** Sends creates of other customers, some at once, and returns how long each took in seconds. */
async function createAsOthers(customers: Client[], bodies: object[]): Promise<number[]> {
  const seconds: number[] = [];
  const creates = customers.flatMap((customer) =>
    bodies.map(async (body) => {
      const start = performance.now();
      const response = await customer.create(body);
      assert.equal(response.status, 202, JSON.stringify([body, response.body]));
      seconds.push((performance.now() - start) / 1000);
    }),
  );
  await Promise.all(creates);
  return seconds;
}

test('host names that never resolve delay no other customer', async (t) => {
  const [database, host, folder, dns] = await Promise.all([
    createTestDatabase(),
    startMediaHost(),
    temporaryFolder(),
    startDnsServer(answerTo),
  ]);
  const service = await startServiceProcess({
    DATABASE_URL: byName(database),
    DATA_DIR: folder.path,
    OUTBOUND_DNS: dns.address,
    CREATE_WAIT_SECONDS: '60',
    OUTBOUND_ALLOW: `localhost:${host.port},127.0.0.1:${host.port}`,
  });
  t.after(async () => {
    await service.kill('SIGKILL');
    await Promise.all([host.close(), dns.close(), database.close()]);
    await folder[Symbol.asyncDispose]();
  });
  const png = await imageBytes('png');
  const image_url = host.serve('/a.png', { kind: 'bytes', bytes: png });
  const otherName = host.url('/a.png', 'media.test');
  const customers = await Promise.all([1, 2].map(() => makeCustomer(database.db, CREDITS)));
  const others = customers.map(({ secret }) => client(service.url, secret));
  const hostile = await makeCustomer(database.db, CREDITS);

  const start = performance.now();
  const attack = [1, 2].map((request) =>
    client(service.url, hostile.secret).create(silentRequest(request)),
  );
  await until(async () => dns.queries.filter((query) => query.includes('silent')).length, Boolean);
  const bodies = [SMALLEST, { ...FRAMES, image_url }, { ...FRAMES, image_url: otherName }];
  const seconds = await createAsOthers(others, bodies);
  t.diagnostic(`creates of others took ${Math.max(...seconds).toFixed(1)} s at most`);

  const refusals = await Promise.all(attack);
  const over = ((performance.now() - start) / 1000).toFixed(1);
  t.diagnostic(`${attack.length} requests with 11 silent names were refused after ${over} s`);
  for (const { status, body } of refusals) {
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.error.details.reason, 'too_slow');
    assert.match(body.error.message, /host name was not resolved in time/);
  }
  await until(
    () => database.db.query(NOT_SUBMITTED),
    (tasks) => tasks.length === 0,
  );
  await assertBalance(database.db, hostile.accountId, CREDITS);
});
