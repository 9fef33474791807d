// npm run demo: makes one video with the whole service, in a temporary folder. Only demo.mp4 beside
// this file remains. A signal ends it early: the service stops, and nothing remains.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openScratchDirectory } from './server/src/kernel/scratch-directory.ts';
import { createMeasurer } from './server/src/media/measure.ts';

const CLI = fileURLToPath(new URL('server/src/framewright.ts', import.meta.url));
const VIDEO = fileURLToPath(new URL('demo.mp4', import.meta.url));
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
  process.stdout.on('error', () => {}); // the terminal was closed
  return ending.signal;
}

interface Demo {
  env: NodeJS.ProcessEnv;
  /** A folder that is removed at the end. */
  folder: string;
  /** Aborts when the demo must end early. */
  signal: AbortSignal;
}

/**
 * Preloaded into the service: it stops when the pipe to this program closes, even if this program
 * was killed.
 */
const ENDS_WITH_PARENT = `data:text/javascript,
  const stop = () => process.kill(process.pid, 'SIGTERM');
  process.stdin.once('close', stop).resume().unref();`;

/** Starts the service in a process group of its own: only this program tells it to stop. */
function spawnService({ env }: Demo) {
  return spawn(process.execPath, ['--import', ENDS_WITH_PARENT, CLI, 'serve'], {
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

/** Waits for the address and the API key that the first start prints once the service listens. */
function welcomeOf(service: ReturnType<typeof spawnService>, { signal }: Demo) {
  const { promise, resolve, reject } = Promise.withResolvers<{ url: string; secret: string }>();
  let printed = '';
  service.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    const [, secret] = /(fw_live_\w+)\n/.exec(printed) ?? [];
    const [, url] = /^The website: (\S+)\n/m.exec(printed) ?? [];
    if (secret && url) resolve({ url, secret });
  });
  service.once('exit', (code, name) => {
    reject(new Error(`the service ended with code ${code ?? name}`));
  });
  signal.addEventListener('abort', () => reject(signal.reason));
  return promise;
}

async function stop(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  service.kill('SIGTERM');
  await once(service, 'exit');
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

async function tour(demo: Demo, { url, secret }: { url: string; secret: string }): Promise<void> {
  say(`the service listens at ${url}, on its embedded database`);
  const api = { url, secret, signal: demo.signal };
  const before = await call<Balance>(api, '/credits');
  say(`its first start made an account, an API key and ${before.available_credits} credits`);
  say(`sending: ${JSON.stringify(REQUEST)}`);
  const task = await generate(api);
  await download(task, demo);
  await check(demo);
  const after = await call<Balance>(api, '/credits');
  await audit(demo);
  say(
    `credits: ${before.available_credits} before, ${task.credits_used} spent (5 s x 50), ` +
      `${after.available_credits} left; the audit found no problem`,
  );
}

/** Runs an operator command beside the service, which fails if the audit finds problems. */
async function audit({ env, signal }: Demo): Promise<void> {
  await promisify(execFile)(process.execPath, [CLI, 'audit'], { env, signal });
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
  const folder = await mkdtemp(path.join(tmpdir(), 'framewright-demo-'));
  try {
    const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
    const settings = { DATA_DIR: folder, PORT: '0', POLL_MIN_SECONDS: '0.5' };
    const demo = { env: { PATH, NODE_EXTRA_CA_CERTS, ...settings }, folder, signal };
    signal.throwIfAborted();
    say('starting the service in a temporary folder');
    const service = spawnService(demo);
    try {
      await tour(demo, await welcomeOf(service, demo));
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
  process.stdout.write(NEXT_STEPS);
  return 0;
}

process.exit(await main());
