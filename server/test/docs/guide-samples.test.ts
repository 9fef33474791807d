import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import { guidesWithTables } from '../../src/write-guides.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
  videoBytes,
} from '../media/media-fixture.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../../..');
const GUIDES = path.join(ROOT, 'docs/guides');
const NO_CURL = spawnSync('curl', ['--version']).error ? 'curl is not installed' : false;

let fixture: MediaFixture;
let folder: string;
let accountId: string;
/** The addresses of the samples, and what stands for them here. */
const files: Record<string, string> = {};

before(async () => {
  fixture = await openMediaFixture();
  accountId = await createAccount(fixture.db, 'ada@example.com');
  // Below the root, from where the package of the client can be found.
  folder = await mkdtemp(path.join(ROOT, 'clients/.samples-'));
  const picture = await imageBytes('png', 864, 496);
  await writeFile(path.join(folder, 'first.png'), picture);
  const dance = await videoBytes({ width: 480, height: 480, seconds: 3, fps: 6 });
  for (const [name, bytes] of [
    ['first.png', picture],
    ['robot.png', picture],
    ['dance.mp4', dance],
  ] as const) {
    files[`https://example.com/${name}`] = fixture.host.serve(`/${name}`, { kind: 'bytes', bytes });
  }
});
after(async () => {
  await rm(folder, { recursive: true, force: true });
  await fixture.close();
});

/** The samples of a guide in a tab, in their order. */
function samplesOf(guide: string, tab: string): string[] {
  const text = readFileSync(path.join(GUIDES, guide), 'utf8');
  const fences = text.matchAll(new RegExp(`^\`\`\`\\w+ tab=${tab}\n(.*?)^\`\`\``, 'gms'));
  return [...fences].map(([, sample = '']) =>
    Object.entries(files).reduce((all, [address, here]) => all.replaceAll(address, here), sample),
  );
}

/** What the samples of each reader's shell know: a test key that has not sent a request yet. */
async function environment(): Promise<Record<string, string>> {
  const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
  return {
    PATH: process.env.PATH ?? '',
    FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1`,
    FRAMEWRIGHT_API_KEY: secret,
  };
}

const guides = readdirSync(GUIDES);

for (const guide of guides.filter((name) => samplesOf(name, 'curl').length > 0)) {
  test(`the samples of ${guide} work with curl`, { skip: NO_CURL }, async () => {
    const env = await environment();
    let task = '';
    for (const sample of samplesOf(guide, 'curl')) {
      if ((/\$TASK/.test(sample) && !task) || sample.includes('/cancel')) task = await aTask(env);
      const command = sample.replace(/^TASK=.*$/m, '');
      const { stdout } = await run('sh', ['-ec', command], {
        cwd: folder,
        env: Object.assign(env, { TASK: task }),
      });
      assert.doesNotMatch(stdout, /^\{"error":\{/, `${sample}\n${stdout}`);
      task = /"id":"(task_\w+)"/.exec(stdout)?.[1] ?? task;
    }
  });
}

async function aTask(env: Record<string, string>): Promise<string> {
  const response = await fetch(`${env.FRAMEWRIGHT_BASE_URL}/video/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${env.FRAMEWRIGHT_API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    },
    body: JSON.stringify({ prompt: 'A boat' }),
  });
  return ((await response.json()) as { id: string }).id;
}

for (const guide of guides.filter((name) => samplesOf(name, 'TypeScript').length > 0)) {
  test(`the samples of ${guide} work with the TypeScript client`, async () => {
    const samples = samplesOf(guide, 'TypeScript').join('\n');
    const head = /^import /m.test(samples)
      ? ''
      : "import { Framewright } from '@framewright/client';\nconst client = new Framewright();\n";
    const file = path.join(folder, `${guide}.ts`);
    await writeFile(file, head + samples);
    await run(process.execPath, [file], { cwd: folder, env: await environment() });
  });
}

test('the tables of prices and limits are fresh: npm run docs', async () => {
  for (const { file, text } of await guidesWithTables()) {
    assert.equal(readFileSync(file, 'utf8'), text);
  }
});
