/**
 * `node bench/peers/run.ts`: LiteLLM's proxy and our service in turns, before the same upstream, on
 * the same machine (bench/README.md).
 */
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { BUILT_IN } from '../../server/src/catalog/catalog.ts';
import { priceOf } from '../../server/src/catalog/price.ts';
import { balances, grant } from '../../server/src/ledger/ledger.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { makeFundedKeys, openBenchSetup, startClients, withTasks } from '../bench-setup.ts';
import type { HttpFloorSetup } from '../floors/http-floor.ts';
import type { HttpClientsSetup } from '../http-clients.ts';
import { type Comparison, compare, type Sample } from '../load.ts';
import { childrenOf, residentMemory } from '../process-usage.ts';
import { type ProgramAddress, startProgram } from '../program.ts';
import { BUDGET, installLitellm, PARALLEL, served, startLitellm, VERSION } from './litellm.ts';

const BODY = { prompt: 'A lighthouse at dawn, waves below', model: 'video-2.0-mini' } as const;
const DEFAULTS = { resolution: '720p', duration: 5, reference_video_urls: [] } as const;
const CLIENTS = 32;
const PORT = 7400;
/** So many that no key reaches 30 requests in 60 seconds. */
const KEY_COUNTS = { accounts: 1000, keysEach: 40 };

const json = (value: object) => {
  const body = JSON.stringify(value);
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return { headers, body };
};

/** An upstream that responds at once, in the shapes that LiteLLM expects. */
const UPSTREAM: HttpFloorSetup = {
  videos: json({
    id: 'video_1',
    object: 'video',
    created_at: 1,
    model: 'sora-2',
    status: 'queued',
    progress: 0,
    seconds: '4',
    size: '720x1280',
  }),
  '/': json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-3.5-turbo',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    // The price of a request comes from these numbers.
    usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
  }),
};

await using temporary = await temporaryFolder();
const folder = process.env.FRAMEWRIGHT_PEERS_FOLDER ?? temporary.path;
await mkdir(folder, { recursive: true });
await installLitellm(folder);
await using upstream = await startProgram<HttpFloorSetup, object, ProgramAddress>(
  'floors/http-floor.ts',
  UPSTREAM,
);
const { url: upstreamUrl } = await upstream.send({});
await using bench = await openBenchSetup();
const { db } = bench;
const keys = await makeFundedKeys(db, KEY_COUNTS);
await using service = await bench.startService({ ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
await using peer = await startLitellm({ folder, upstreamUrl, port: PORT });
print(`LiteLLM proxy ${VERSION}; ${availableParallelism()} cores; ${CLIENTS} connections`);
printCompared('create', await compareWith(peer.requests.create, { act: 'create', targets: keys }));
const memory = [await memoryOfTree(service.pid), await memoryOfTree(peer.pid)];
print(`  memory under load, without a database: ours ${memory[0]} MB, theirs ${memory[1]} MB`);
const targets = await withTasks(db, keys);
printCompared('read', await compareWith(peer.requests.read, { act: 'read', targets }));
print(
  `  ${PARALLEL} parallel requests on a budget for ${BUDGET}, theirs: ${await peer.overspend()}`,
);
print(`  the same, ours: ${await overspendOurs()}`);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Both sides in turns, theirs with the text of a request. */
async function compareWith(text: string, ours: Pick<HttpClientsSetup, 'act' | 'targets'>) {
  const url = `http://127.0.0.1:${PORT}`;
  const theirs = { url, clients: CLIENTS, act: { text }, targets: [{ secret: '' }] };
  await using ourClients = await startClients({ url: service.url, clients: CLIENTS, ...ours });
  await using theirClients = await startClients(theirs);
  return await compare(ourClients, theirClients);
}

/** The resident memory of a process and of all that it started, in megabytes. */
async function memoryOfTree(pid: number): Promise<number> {
  const { nowBytes } = await residentMemory(pid);
  const below = await Promise.all((await childrenOf(pid)).map(memoryOfTree));
  return below.reduce((sum, megabytes) => sum + megabytes, Math.round(nowBytes / 2 ** 20));
}

function printCompared(what: string, { service: ours, floor: theirs, ratio }: Comparison): void {
  const side = (sample: Sample) =>
    `${sample.perSecond.toFixed(0)}/s (p50 ${sample.p50Milliseconds.toFixed(1)}, ` +
    `p99 ${sample.p99Milliseconds.toFixed(1)} ms)`;
  const range = `${ratio.lowest.toFixed(2)}-${ratio.highest.toFixed(2)}`;
  print(
    `  ${what}: ours ${side(ours)}, theirs ${side(theirs)}; ratio ${ratio.median.toFixed(2)} (${range})`,
  );
}

/** One account with ten keys, since a key may send 30 requests in 60 seconds. */
async function overspendOurs(): Promise<string> {
  const credits = priceOf(BUILT_IN, { ...BODY, ...DEFAULTS }, new Date())?.credits ?? 0;
  const accountId = await createAccount(db, `${crypto.randomUUID()}@example.com`);
  const grantOfTen = { accountId, credits: credits * BUDGET, kind: 'paid' } as const;
  await grant(db, { ...grantOfTen, reference: crypto.randomUUID() });
  const keys = await Promise.all(Array.from({ length: 10 }, () => createKey(db, { accountId })));
  const count = await served(
    PARALLEL,
    `${service.url}/api/v1/video/generations`,
    JSON.stringify(BODY),
    (turn) => ({
      authorization: `Bearer ${keys[turn % keys.length]?.secret}`,
      'idempotency-key': crypto.randomUUID(),
    }),
  );
  const { paid } = await balances(db, accountId);
  return `${count} of ${PARALLEL} served; the balance is ${paid.available}`;
}
