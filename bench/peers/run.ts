/**
 * `FRAMEWRIGHT_PEERS=litellm,portkey,one-api node bench/peers/run.ts`: each peer and our service in
 * turns, before the same upstream, on the same machine (bench/README.md).
 */
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { priceOf } from '../../server/src/catalog/price.ts';
import { statement } from '../../server/src/database/database.ts';
import { balances, grant } from '../../server/src/ledger/ledger.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import {
  type BenchSetup,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  type RunningService,
} from '../bench-setup.ts';
import { startProgram } from '../program.ts';
import { type Comparison, compare } from '../rounds.ts';
import type { Sample } from '../sample.ts';
import { litellm } from './litellm.ts';
import { oneApi } from './one-api.ts';
import { BUDGET, PARALLEL, type Peer, requestText, served } from './peer.ts';
import type { PeerClientsSetup } from './peer-clients.ts';
import { portkey } from './portkey.ts';
import { memoryOfTree } from './processes.ts';

const PEERS: Record<string, Peer> = { litellm, portkey, 'one-api': oneApi };
const A_TASK_EACH = statement(
  'bench_peer_tasks',
  'select distinct on (account_id) account_id, id from tasks order by account_id',
);

const BODY = { prompt: 'A lighthouse at dawn, waves below', model: 'video-2.0-mini' } as const;
const DEFAULTS = { resolution: '720p', duration: 5, reference_video_urls: [] } as const;
const CLIENTS = 32;
const PORT = 7400;
/** So many that no key reaches 30 requests in 60 seconds. */
const KEY_COUNTS = { accounts: 1000, keysEach: 40 };

const names = (process.env.FRAMEWRIGHT_PEERS ?? '').split(',').filter(Boolean);
const unknown = names.filter((name) => !(name in PEERS));
if (names.length === 0 || unknown.length > 0) {
  print(`Skipped: set FRAMEWRIGHT_PEERS to some of ${Object.keys(PEERS).join(',')}.`);
  print('FRAMEWRIGHT_PEERS_FOLDER keeps what is installed for the next run.');
} else {
  await using folder = await temporaryFolder();
  const kept = process.env.FRAMEWRIGHT_PEERS_FOLDER ?? folder.path;
  await mkdir(kept, { recursive: true });
  for (const name of names) await comparePeer(PEERS[name] as Peer, kept);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function comparePeer(peer: Peer, folder: string): Promise<void> {
  const missing = await peer.install(folder);
  if (missing !== undefined) return print(`${peer.name}: skipped: ${missing}`);
  await using upstream = await startProgram<object, object, string>('peers/upstream.ts', {});
  const upstreamUrl = await upstream.send({});
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, KEY_COUNTS);
  await using service = await bench.startService({ ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
  const { databaseUrl, db } = bench;
  const setup = { folder, upstreamUrl, databaseUrl, db, port: PORT };
  await using running = await peer.start(setup);
  print(`${peer.name} ${peer.version}; ${availableParallelism()} cores; ${CLIENTS} connections`);
  const peerUrl = `http://127.0.0.1:${PORT}`;
  const { read, create } = running.requests;
  const ours = (texts: string[]) => ({ url: service.url, clients: CLIENTS, texts });
  const theirs = (text: string) => ({ url: peerUrl, clients: CLIENTS, texts: [text] });
  printCompared('create', await inTurns(ours(createTexts(service, keys)), theirs(create)));
  const memory = [await memoryOfTree(service.pid), await memoryOfTree(running.pid)];
  print(`  memory under load, without a database: ours ${memory[0]} MB, theirs ${memory[1]} MB`);
  if (read === undefined) print('  read: it has no authenticated read');
  else
    printCompared('read', await inTurns(ours(await readTexts(bench, service, keys)), theirs(read)));
  print(`  durable when a create is answered, theirs: ${peer.durable}`);
  print(
    `  ${PARALLEL} parallel requests on a budget for ${BUDGET}, theirs: ${await running.overspend()}`,
  );
  print(`  the same, ours: ${await overspendOurs(bench, service)}`);
}

async function inTurns(ours: PeerClientsSetup, theirs: PeerClientsSetup): Promise<Comparison> {
  const start = (setup: PeerClientsSetup) =>
    startProgram<PeerClientsSetup, { seconds: number }, Sample>('peers/peer-clients.ts', setup);
  await using service = await start(ours);
  await using peer = await start(theirs);
  return await compare(service, peer);
}

function printCompared(what: string, { service, floor: peer, ratio }: Comparison): void {
  const side = (sample: Sample) =>
    `${sample.perSecond.toFixed(0)}/s (p50 ${sample.p50Milliseconds.toFixed(1)}, ` +
    `p99 ${sample.p99Milliseconds.toFixed(1)} ms)`;
  const range = `${ratio.lowest.toFixed(2)}-${ratio.highest.toFixed(2)}`;
  print(
    `  ${what}: ours ${side(service)}, theirs ${side(peer)}; ratio ${ratio.median.toFixed(2)} (${range})`,
  );
}

function createTexts({ url }: RunningService, keys: FundedKey[]): string[] {
  const port = Number(new URL(url).port);
  const path = '/api/v1/video/generations';
  return keys.map(({ secret }) => {
    const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': '{uuid}' };
    return requestText({ method: 'POST', path, port, headers }, JSON.stringify(BODY));
  });
}

async function readTexts(
  { db }: BenchSetup,
  { url }: RunningService,
  keys: FundedKey[],
): Promise<string[]> {
  const port = Number(new URL(url).port);
  const rows = await db.query<{ account_id: string; id: string }>(A_TASK_EACH);
  const tasks = new Map(rows.map((row) => [row.account_id, row.id]));
  return keys.flatMap(({ accountId, secret }) => {
    const headers = { authorization: `Bearer ${secret}` };
    const path = `/api/v1/tasks/${tasks.get(accountId)}`;
    return tasks.has(accountId) ? [requestText({ method: 'GET', path, port, headers })] : [];
  });
}

/** One account with ten keys, since a key may send 30 requests in 60 seconds. */
async function overspendOurs({ db }: BenchSetup, { url }: RunningService): Promise<string> {
  const credits = priceOf({ ...BODY, ...DEFAULTS })?.credits ?? 0;
  const accountId = await createAccount(db, `${crypto.randomUUID()}@example.com`);
  const grantOfTen = { accountId, credits: credits * BUDGET, kind: 'paid' } as const;
  await grant(db, { ...grantOfTen, reference: crypto.randomUUID() });
  const keys = await Promise.all(Array.from({ length: 10 }, () => createKey(db, { accountId })));
  let turn = 0;
  const count = await served(PARALLEL, () => {
    turn += 1;
    return fetch(`${url}/api/v1/video/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[turn % keys.length]?.secret}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body: JSON.stringify(BODY),
    });
  });
  const { paid } = await balances(db, accountId);
  return `${count} of ${PARALLEL} served; the balance is ${paid.available}`;
}
