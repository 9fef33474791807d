import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { FIRST_IDEMPOTENCY_KEY, FIRST_REQUEST, pythonSample } from '../../console/src/samples.ts';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { newWebhookSecret, signatureHeaders } from '../../server/src/webhooks/signature.ts';
import { serveClientCases } from '../../server/test/clients/fault-cases.ts';
import {
  newTestKeys,
  type Orders,
  type Program,
  proveOrders,
} from '../../server/test/clients/orders.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
  videoBytes,
} from '../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import {
  FOLDER,
  openVirtualEnvironment,
  type VirtualEnvironment,
  withoutPython,
} from './test/virtual-environment.ts';

const run = promisify(execFile);
const PACK = path.join(FOLDER, '../packing/pack.ts');

const read = (name: string) => readFile(path.join(FOLDER, name), 'utf8');

test('the README begins with the example that the tests run', async () => {
  const [, shown] = /```python\n(.*?)```/s.exec(await read('README.md')) ?? [];
  assert.equal(shown, await read('examples/first_video.py'));
});

let fixture: MediaFixture;
let python: VirtualEnvironment;
let keys: string[];

/** How many API keys the tests in Python take. */
const KEYS = 160;

const skip = { skip: withoutPython };
const cleanup = new AsyncDisposableStack();

before(async () => {
  if (withoutPython) return;
  const packages = ['.', 'mypy', 'pytest', 'build', 'twine'];
  [fixture, python] = await Promise.all([openMediaFixture(), openVirtualEnvironment(packages)]);
  cleanup.defer(() => fixture.close());
  cleanup.use(python);
  const accountId = await createAccount(fixture.db, 'ada@example.com');
  keys = await newTestKeys(fixture.db, accountId, KEYS);
});
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
    { ...FIRST_REQUEST, idempotency_key: FIRST_IDEMPOTENCY_KEY },
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

/** Prints the names of the files of a wheel, and its metadata, in one order. */
const CONTENTS = `import sys, zipfile
from email import message_from_bytes
from packaging.requirements import Requirement
wheel = zipfile.ZipFile(sys.argv[1])
names = sorted(wheel.namelist())
metadata = message_from_bytes(wheel.read(next(one for one in names if one.endswith("/METADATA"))))
del metadata["Metadata-Version"]
needs = [str(Requirement(one)) for one in metadata.get_all("Requires-Dist")]
del metadata["Requires-Dist"]
words = sorted(metadata["Keywords"].split(","))
del metadata["Keywords"]
print(names, needs, words, sorted(metadata.items()), metadata.get_payload())`;

test('the wheel that an installation serves is the one that hatchling builds', skip, async () => {
  await using folder = await temporaryFolder();
  await run(process.execPath, [PACK, path.join(folder.path, 'served')]);
  await python.run('python', ['-m', 'build', '--outdir', path.join(folder.path, 'built')]);
  const contents = await Promise.all(
    ['served', 'built'].map(async (name) => {
      const names = await readdir(path.join(folder.path, name));
      const files = names.filter((one) => !one.endsWith('.tgz')).sort();
      const endings = files.map((one) => path.extname(one));
      assert.deepEqual(endings, ['.whl', '.gz']);
      const [wheel = '', archive = ''] = files.map((one) => path.join(folder.path, name, one));
      await python.run('twine', ['check', '--strict', wheel, archive]);
      return python.run('python', ['-c', CONTENTS, wheel]);
    }),
  );
  assert.equal(contents[0], contents[1]);
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

test('calls through faults and kills are as many videos, each charged once', skip, async (t) => {
  const script = path.join(FOLDER, 'test/many_orders.py');
  const client =
    (kind: string) =>
    ({ folder, first, last }: Orders): Program => ({
      command: python.program('python'),
      args: [script, kind, folder, String(first), String(last)],
    });
  await proveOrders(fixture, t, [client('sync'), client('async')]);
});
