import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FIRST_KEY, FIRST_REQUEST } from '../../console/src/samples/first-request.ts';
import { pythonSample } from '../../console/src/samples/python.ts';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { newWebhookSecret, signatureHeaders } from '../../server/src/webhooks/signature.ts';
import { serveClientCases } from '../../server/test/clients/fault-cases.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
  videoBytes,
} from '../../server/test/media/media-fixture.ts';
import { createRandom } from '../../server/test/random.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { openFaultProxy } from '../../simulators/fault-proxy/fault-proxy.ts';
import { runKilled } from './test/kills.ts';
import {
  FOLDER,
  openVirtualEnvironment,
  type VirtualEnvironment,
  withoutPython,
} from './test/virtual-environment.ts';
import { writtenFiles } from './write.ts';

const read = (name: string) => readFile(path.join(FOLDER, name), 'utf8');

test('what is written from openapi.json and from the asynchronous client is fresh', async () => {
  for (const [file, text] of writtenFiles()) {
    const hint = `run: node clients/python/write.ts (${path.basename(file)})`;
    assert.equal(await readFile(file, 'utf8'), text, hint);
  }
});

test('the README begins with the example that the tests run', async () => {
  const [, shown] = /```python\n(.*?)```/s.exec(await read('README.md')) ?? [];
  assert.equal(shown, await read('examples/first_video.py'));
});

let fixture: MediaFixture;
let python: VirtualEnvironment;
let keys: string[];

/** How many API keys the tests in Python take. */
const KEYS = 150;

const skip = { skip: withoutPython };
const cleanup = new AsyncDisposableStack();

before(async () => {
  if (withoutPython) return;
  const packages = ['.', 'mypy', 'pytest', 'build', 'twine'];
  [fixture, python] = await Promise.all([openMediaFixture(), openVirtualEnvironment(packages)]);
  cleanup.defer(() => fixture.close());
  cleanup.use(python);
  const accountId = await createAccount(fixture.db, 'ada@example.com');
  keys = await newTestKeys(accountId, KEYS);
});
/** Many, because a key may send 30 requests a minute. */
async function newTestKeys(accountId: string, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () =>
    createKey(fixture.db, { accountId, mode: 'test' }),
  );
  return (await Promise.all(made)).map(({ secret }) => secret);
}

after(() => cleanup.disposeAsync());

test('mypy finds nothing in strict mode', skip, async () => {
  await python.run('mypy', ['--cache-dir', '/dev/null']);
});

test('the Python that the website shows makes a video', skip, async () => {
  const [apiKey = ''] = keys.splice(0, 1);
  const small = {
    prompt: 'A "paper"\nboat \u{1f3ac}',
    generate_audio: false,
    duration: 4,
    seed: -1,
  };
  const picture = { reference_image_urls: [await uploadedPicture(apiKey)] };
  const bodies = [
    { ...FIRST_REQUEST, idempotency_key: FIRST_KEY },
    { ...small, mode: 'media-to-video', ...picture },
  ];
  for (const body of bodies) {
    await using folder = await temporaryFolder();
    const file = path.join(folder.path, 'sample.py');
    await writeFile(file, pythonSample(`${fixture.url}/api/v1`, body));
    await python.run('python', [file], { cwd: folder.path, FRAMEWRIGHT_API_KEY: apiKey });
    assert.ok((await readFile(path.join(folder.path, 'video.mp4'))).includes('ftyp'));
  }
});

/** The address of an upload, as the playground puts it into its sample. */
async function uploadedPicture(apiKey: string): Promise<string> {
  const response = await fetch(`${fixture.url}/api/v1/uploads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'image/png' },
    body: new Uint8Array(await imageBytes('png')),
  });
  const { url }: { url: string } = JSON.parse(await response.text());
  return url;
}

/** A folder with a picture and a clip. */
async function testMedia() {
  const media = await temporaryFolder();
  await writeFile(path.join(media.path, 'picture.png'), await imageBytes('png'));
  const clip = await videoBytes({ width: 640, height: 480, seconds: 2 });
  await writeFile(path.join(media.path, 'clip.mp4'), clip);
  return media;
}

/** A delivery as the service signs it, one that is old, and one that is signed with an empty key. */
function signedWebhook() {
  const [other, secret] = [newWebhookSecret(), newWebhookSecret()];
  const data = { id: 'task_1', prompt: 'Bühne \u{1f3ac}' };
  const body = JSON.stringify({ type: 'task.completed', timestamp: 'T', mode: 'test', data });
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { eventId: 'evt_1', timestamp, body };
  return {
    secret,
    body,
    headers: signatureHeaders(message, [other, secret]),
    old_headers: signatureHeaders({ ...message, timestamp: timestamp - 86_400 }, [secret]),
    empty_key_headers: signatureHeaders(message, ['whsec_']),
  };
}

test('the wheel runs the example of the README in a clean environment', skip, async () => {
  await using folder = await temporaryFolder();
  await python.run('python', ['-m', 'build', '--outdir', folder.path]);
  const files = (await readdir(folder.path)).map((name) => path.join(folder.path, name)).sort();
  assert.deepEqual(
    files.map((file) => path.extname(file)),
    ['.whl', '.gz'],
  );
  await python.run('twine', ['check', '--strict', ...files]);
  await using clean = await openVirtualEnvironment(files.slice(0, 1));
  const [apiKey = ''] = keys.splice(0, 1);
  const link = await clean.run('python', [path.join(FOLDER, 'examples/first_video.py')], {
    cwd: folder.path,
    FRAMEWRIGHT_API_KEY: apiKey,
    FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1`,
  });
  const video = await (await fetch(link.trim())).bytes();
  assert.ok(video.length > 0);
  assert.ok((await readFile(path.join(folder.path, 'lighthouse.mp4'))).equals(video));
});

test('each call works on the real service, blocking and asynchronous', skip, async () => {
  await using media = await testMedia();
  await writeFile(path.join(media.path, 'webhook.json'), JSON.stringify(signedWebhook()));
  await using cases = await serveClientCases(fixture);
  const printed = await python.run('pytest', ['-q', '--durations=5', '-p', 'no:cacheprovider'], {
    FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1`,
    FRAMEWRIGHT_TEST_KEYS: keys.join(),
    FRAMEWRIGHT_TEST_CASES: cases.url,
    FRAMEWRIGHT_TEST_MEDIA: media.path,
  });
  console.log(printed);
});

/** How many videos are made while the network fails and the clients are killed. */
const VIDEOS = Number(process.env.FRAMEWRIGHT_GENERATIONS ?? 20);
const PRICE = 60;

test(
  `${VIDEOS} calls through faults and kills are ${VIDEOS} videos, each charged once`,
  skip,
  async (t) => {
    const seed = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`FRAMEWRIGHT_SEED=${seed}`);
    const random = createRandom(seed);
    await using media = await testMedia();
    await using folder = await temporaryFolder();
    await using proxy = await openFaultProxy({ target: fixture.url, rate: 0.2, seed });
    const accountId = await createAccount(fixture.db, 'orders@example.com');
    const env = {
      ...process.env,
      FRAMEWRIGHT_BASE_URL: `${proxy.url}/api/v1`,
      FRAMEWRIGHT_TEST_KEYS: (await newTestKeys(accountId, Math.ceil(VIDEOS / 2))).join(),
      FRAMEWRIGHT_TEST_MEDIA: media.path,
    };
    const half = Math.floor(VIDEOS / 2);
    const client = (kind: string, first: number, last: number) => {
      const script = path.join(FOLDER, 'test/many_orders.py');
      const args = [script, kind, folder.path, String(first), String(last)];
      const program = { command: python.program('python'), args, env };
      return runKilled(program, Math.ceil(VIDEOS / 20), random.fork());
    };
    const kills = await Promise.all([client('sync', 1, half), client('async', half + 1, VIDEOS)]);
    t.diagnostic(`${kills} kills, ${proxy.requests.length} requests`);
    const tasks = await sql<{ phase: string; order: string; output: string; size_bytes: number }>(
      fixture.db,
      `select phase, key as "order", o.id as output, o.size_bytes from tasks t
      join idempotency_keys k on k.task_id = t.id
      left join stored_objects o on o.owner_id = t.id and o.role = 'output' and o.state = 'ready'
      where t.account_id = $1`,
      [accountId],
    );
    assert.equal(new Set(tasks.map(({ order }) => order)).size, VIDEOS);
    assert.deepEqual([tasks.length, await spentBy(accountId)], [VIDEOS, VIDEOS * PRICE]);
    for (const { phase, order, output } of tasks) {
      assert.equal(phase, 'completed');
      const file = await readFile(path.join(folder.path, `${order.replace('order-', '')}.mp4`));
      const stored = path.join(fixture.dataDir, 'objects', output.slice(-2), output);
      assert.ok(file.equals(await readFile(stored)), `the file of ${order} is whole`);
    }
  },
);

/** The test credits of an account that tasks have used. */
async function spentBy(accountId: string): Promise<number> {
  const text = `select spent + reserved as used from ledger_balances
    where account_id = $1 and kind = 'test'`;
  const [{ used } = { used: 0 }] = await sql<{ used: number }>(fixture.db, text, [accountId]);
  return used;
}
