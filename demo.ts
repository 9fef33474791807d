// npm run demo: makes one video with the whole service, in a temporary folder. Only demo.mp4 beside
// this file remains. A signal ends it early: then the service stops, and nothing remains.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openScratchDirectory } from './server/src/kernel/scratch-directory.ts';
import { createMeasurer } from './server/src/media/measure.ts';

const CLI = fileURLToPath(new URL('server/src/framewright.ts', import.meta.url));
const VIDEO = fileURLToPath(new URL('demo.mp4', import.meta.url));
const EMAIL = 'demo@example.com';
const REQUEST = {
  prompt: 'A paper boat sails down a rainy street, at dusk',
  model: 'video-2.0-fast',
  resolution: '720p',
  duration: 5,
};

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
  process.stdout.on('error', () => {}); // a terminal that was closed
  return ending.signal;
}

interface Demo {
  env: NodeJS.ProcessEnv;
  url: string;
  /** A folder that is removed at the end. */
  folder: string;
  /** Aborts when the demo shall end early. */
  signal: AbortSignal;
}

/** A port that is free now: the service takes it a moment later. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

/**
 * Preloaded into the service: it stops when the pipe to this program closes, even if this program
 * was killed.
 */
const ENDS_WITH_PARENT = `data:text/javascript,
  const stop = () => process.kill(process.pid, 'SIGTERM');
  process.stdin.once('close', stop).resume().unref();`;

/** Starts the service in a process group of its own: only this program tells it to stop. */
function spawnService({ env }: Demo): ChildProcess {
  return spawn(process.execPath, ['--import', ENDS_WITH_PARENT, CLI, 'serve'], {
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

/** Whether the process runs no more. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function untilReady(service: ChildProcess, { url, signal }: Demo): Promise<void> {
  while (!(await isReady(url))) {
    if (hasEnded(service)) {
      throw new Error(`the service ended with code ${service.exitCode ?? service.signalCode}`);
    }
    await delay(100, undefined, { signal });
  }
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

async function stop(service: ChildProcess): Promise<void> {
  if (hasEnded(service)) return;
  service.kill('SIGTERM');
  await once(service, 'exit');
}

/** Runs an operator command and returns what it printed as JSON. */
async function framewright<Result>({ env, signal }: Demo, ...args: string[]): Promise<Result> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env,
    signal,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`framewright ${args.join(' ')} ended with code ${code}`);
  return JSON.parse(printed);
}

async function makeKey(demo: Demo): Promise<string> {
  await framewright(demo, 'accounts', 'create', EMAIL);
  const grant = ['--kind', 'paid', '--reference', 'demo-invoice-1'];
  const [{ secret }] = await Promise.all([
    framewright<{ secret: string }>(demo, 'keys', 'create', EMAIL),
    framewright(demo, 'credits', 'grant', EMAIL, '1000', ...grant),
  ]);
  return secret;
}

interface VideoTask {
  id: string;
  status: 'processing' | 'completed' | 'failed';
  credits_used: number;
  output: { video_url: string } | null;
  error: { code: string; message: string } | null;
}

interface Api {
  url: string;
  secret: string;
  signal: AbortSignal;
}

async function call<Result>(api: Api, route: string, init: RequestInit = {}): Promise<Result> {
  const { url, secret, signal } = api;
  const headers = { ...init.headers, authorization: `Bearer ${secret}` };
  const response = await fetch(`${url}/api/v1${route}`, { ...init, headers, signal });
  const body = (await response.json()) as Result;
  if (!response.ok)
    throw new Error(`${route} returned ${response.status}: ${JSON.stringify(body)}`);
  return body;
}

async function generate(api: Api): Promise<VideoTask> {
  let task = await call<VideoTask>(api, '/video/generations', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'demo-1' },
    body: JSON.stringify(REQUEST),
  });
  say(`task ${task.id} is ${task.status}, ${task.credits_used} credits are reserved`);
  while (task.status === 'processing') {
    // An API key may send 30 requests a minute.
    await delay(2500, undefined, { signal: api.signal });
    task = await call<VideoTask>(api, `/tasks/${task.id}`);
    say(task.status === 'processing' ? 'still processing ...' : `the task is ${task.status}`);
  }
  return task;
}

async function download(task: VideoTask, { signal }: Demo): Promise<void> {
  if (!task.output) throw new Error(`the task failed: ${task.error?.code} ${task.error?.message}`);
  const response = await fetch(task.output.video_url, { signal });
  if (!response.ok) throw new Error(`the download returned ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await writeFile(VIDEO, bytes);
  say(`downloaded ${VIDEO} (${Math.round(bytes.length / 1024)} KiB)`);
}

async function check({ folder, signal }: Demo): Promise<void> {
  const scratch = openScratchDirectory(path.join(folder, 'demo-scratch'));
  const measured = await createMeasurer({ scratch }).measure(VIDEO, 'video', { signal });
  if (measured.kind !== 'measured' || measured.facts.kind !== 'video') {
    throw new Error(`the video is damaged: ${JSON.stringify(measured)}`);
  }
  const { width, height, durationSeconds, frames, videoCodec, audio } = measured.facts;
  const sound = audio ? `${audio.codec} sound` : 'no sound';
  say(
    `checked: ${width}x${height}, ${durationSeconds} s, ${frames} frames, ${videoCodec}, ${sound}`,
  );
}

interface Balance {
  available_credits: number;
}

async function tour(demo: Demo): Promise<void> {
  say(`the service listens at ${demo.url}, on its embedded database`);
  const secret = await makeKey(demo);
  const api = { ...demo, secret };
  const before = await call<Balance>(api, '/credits');
  say(`created account ${EMAIL} with an API key and ${before.available_credits} paid credits`);
  say(`sending: ${JSON.stringify(REQUEST)}`);
  const task = await generate(api);
  await download(task, demo);
  await check(demo);
  const after = await call<Balance>(api, '/credits');
  const { ok } = await framewright<{ ok: boolean }>(demo, 'audit');
  say(
    `credits: ${before.available_credits} before, ${task.credits_used} spent (5 s x 50), ` +
      `${after.available_credits} left; the audit found ${ok ? 'no problem' : 'PROBLEMS'}`,
  );
  if (!ok) throw new Error('the audit found problems');
}

/** What to do next. The commands are loaded only now, so that the demo starts fast. */
async function nextSteps(): Promise<string> {
  const { NOUNS } = await import('./server/src/operator/verbs/list.ts');
  const groups = Object.keys(NOUNS).join(', ');
  const commands = groups.replaceAll(/(.{1,63})(?: |$)/g, `$1\n${' '.repeat(37)}`).trimEnd();
  return `
The video is a test pattern: the local renderer is not an AI model, and needs no key and no network.

Next:
  open demo.mp4                      look at it
  npm start                          run the service, then open http://127.0.0.1:8080; it prints a key
                                     and a curl line to paste
  npx --no-install framewright --help
                                     ${commands}
  README.md, docs/ARCHITECTURE.md    how it works, and why it never charges twice
`;
}

/** Starts the service, shows it, stops it, and removes what both left. */
async function run(signal: AbortSignal): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'framewright-demo-'));
  try {
    const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
    const PORT = String(await freePort());
    const env = { PATH, NODE_EXTRA_CA_CERTS, DATA_DIR: folder, PORT, POLL_MIN_SECONDS: '0.5' };
    const demo = { env, folder, signal, url: `http://127.0.0.1:${PORT}` };
    signal.throwIfAborted();
    say('starting the service in a temporary folder');
    const service = spawnService(demo);
    try {
      await untilReady(service, demo);
      await tour(demo);
    } finally {
      await stop(service);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
  process.stdout.write(await nextSteps());
  return 0;
}

process.exit(await main());
