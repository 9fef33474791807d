// npm run demo: makes one video with the whole service, in a temporary folder. Only demo.mp4 beside
// this file remains. A signal ends it early: the service stops, and nothing remains.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Framewright } from './clients/typescript/src/index.ts';
import { createAccount } from './server/src/accounts/accounts.ts';
import { createKey } from './server/src/accounts/api-keys.ts';
import { readConfig } from './server/src/config/config.ts';
import type { Database } from './server/src/database/database.ts';
import { createLog } from './server/src/kernel/log.ts';
import { grant } from './server/src/ledger/ledger.ts';
import { openConfiguredDatabase } from './server/src/open-database.ts';
import { audit } from './server/src/operator/audit.ts';
import { startService } from './server/src/service.ts';

const VIDEO = fileURLToPath(new URL('demo.mp4', import.meta.url));
const CREDITS = 10_000;
const REQUEST = {
  prompt: 'A paper boat sails down a rainy street, at dusk',
  model: 'video-2.0-fast',
  resolution: '720p',
  duration: 5,
} as const;

const started = performance.now();

function say(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
  process.stdout.write(`${seconds} s  ${text}\n`);
}

/** Aborts at the first signal that asks this program to end, with the exit code as the reason. */
function endSignal(): AbortSignal {
  const ending = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => ending.abort(128 + constants.signals[name]));
  }
  process.stdout.on('error', () => {}); // the terminal was closed
  return ending.signal;
}

async function tour(db: Database, url: string, signal: AbortSignal): Promise<void> {
  say(`the service listens at ${url}, on its embedded database`);
  const accountId = await createAccount(db, 'you@localhost');
  await grant(db, { accountId, credits: CREDITS, kind: 'paid', reference: 'demo' });
  const { secret } = await createKey(db, { accountId });
  say(`made an account, an API key and ${CREDITS} credits`);
  say(`sending: ${JSON.stringify(REQUEST)}`);
  const client = new Framewright({ apiKey: secret, baseUrl: `${url}/api/v1` });
  const video = await client.generate(REQUEST, {
    signal,
    onProgress: ({ id, status, credits_used: credits }) =>
      say(
        status === 'processing'
          ? `task ${id} is ${status}, ${credits} credits are reserved`
          : `the task is ${status}`,
      ),
  });
  await video.download(VIDEO, { signal });
  say(`downloaded ${VIDEO} (${Math.round((await stat(VIDEO)).size / 1024)} KiB)`);
  const { available_credits: left } = await client.credits.get({ signal });
  const { problems } = await audit(db);
  if (problems.length > 0) throw new Error(`the audit found ${JSON.stringify(problems)}`);
  say(
    `credits: ${CREDITS} before, ${video.credits_used} spent (5 s x 50), ${left} left; the audit ` +
      'found no problem',
  );
}

const NEXT_STEPS = `
The video is a test pattern: the local renderer is not an AI model, and needs no key and no network.

Next:
  open demo.mp4                          look at it
  npm start                              run the service, then open http://127.0.0.1:8080; it prints
                                         a key and a curl line to paste
  npx --no-install framewright --help    the commands of operators
  README.md, docs/ARCHITECTURE.md        how it works, and why it never charges twice
`;

/** Starts the service, shows it, stops it, and cleans up. */
async function run(signal: AbortSignal): Promise<void> {
  await using cleanup = new AsyncDisposableStack(); // the last first
  const folder = await mkdtemp(path.join(tmpdir(), 'framewright-demo-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  say('starting the service in a temporary folder');
  const config = readConfig({ DATA_DIR: folder, PORT: '0', POLL_MIN_SECONDS: '0.5' });
  const log = createLog({ level: 'error' });
  const pool = { connections: config.databaseConnections };
  const opened = await openConfiguredDatabase(config, { log, migrates: true, pool });
  cleanup.defer(() => opened.close());
  signal.throwIfAborted();
  const service = await startService(config, opened, log);
  cleanup.defer(() => service.stop());
  signal.throwIfAborted();
  await tour(opened.db, service.url ?? '', signal);
}

async function main(): Promise<number> {
  const signal = endSignal();
  try {
    await run(signal);
  } catch (error) {
    if (signal.aborted) return signal.reason;
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  say('stopped; the temporary folder is removed');
  process.stdout.write(NEXT_STEPS);
  return 0;
}

process.exit(await main());
