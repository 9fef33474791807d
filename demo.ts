// npm run demo: makes one video with the whole service, in a temporary folder. Only demo.mp4 beside
// this file remains.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
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

interface Demo {
  env: NodeJS.ProcessEnv;
  service: ChildProcess;
  url: string;
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

async function startService(env: NodeJS.ProcessEnv): Promise<Demo> {
  const service = spawn(process.execPath, [CLI, 'serve'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true, // Ctrl-C reaches this script only, which then stops the service in an orderly way
  });
  const url = `http://127.0.0.1:${env.PORT}`;
  while (!(await isReady(url))) {
    const { exitCode, signalCode } = service;
    if (exitCode !== null || signalCode !== null) {
      throw new Error(`the service ended with code ${exitCode ?? signalCode}`);
    }
    await delay(100);
  }
  return { env, service, url };
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

/** Runs an operator command and returns what it printed as JSON. */
async function framewright<Result>({ env }: Demo, ...args: string[]): Promise<Result> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env,
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
}

async function call<Result>(api: Api, route: string, init: RequestInit = {}): Promise<Result> {
  const headers = { ...init.headers, authorization: `Bearer ${api.secret}` };
  const response = await fetch(`${api.url}/api/v1${route}`, { ...init, headers });
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
    await delay(2500); // an API key may send 30 requests a minute
    task = await call<VideoTask>(api, `/tasks/${task.id}`);
    say(task.status === 'processing' ? 'still processing ...' : `the task is ${task.status}`);
  }
  return task;
}

async function download(task: VideoTask): Promise<void> {
  if (!task.output) throw new Error(`the task failed: ${task.error?.code} ${task.error?.message}`);
  const response = await fetch(task.output.video_url);
  if (!response.ok) throw new Error(`the download returned ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await writeFile(VIDEO, bytes);
  say(`downloaded ${VIDEO} (${Math.round(bytes.length / 1024)} KiB)`);
}

async function check(): Promise<void> {
  const measured = await createMeasurer().measure(VIDEO, 'video');
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
  const api = { url: demo.url, secret };
  const before = await call<Balance>(api, '/credits');
  say(`created account ${EMAIL} with an API key and ${before.available_credits} paid credits`);
  say(`sending: ${JSON.stringify(REQUEST)}`);
  const task = await generate(api);
  await download(task);
  await check();
  const after = await call<Balance>(api, '/credits');
  const { ok } = await framewright<{ ok: boolean }>(demo, 'audit');
  say(
    `credits: ${before.available_credits} before, ${task.credits_used} spent (5 s x 50), ` +
      `${after.available_credits} left; the audit found ${ok ? 'no problem' : 'PROBLEMS'}`,
  );
  if (!ok) throw new Error('the audit found problems');
}

const NEXT = `
The video is a test pattern: the local renderer is not an AI model, and needs no key and no network.

Next:
  open demo.mp4                      look at it
  npm start                          run the service, then open http://127.0.0.1:8080; it prints a key
                                     and a curl line to paste
  npx framewright --help             accounts, keys, credits, tasks, reconcile, orphans, audit,
                                     migrate
  README.md, docs/ARCHITECTURE.md    how it works, and why it never charges twice
`;

async function main(): Promise<void> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'framewright-demo-'));
  const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
  const PORT = String(await freePort());
  const env = { PATH, NODE_EXTRA_CA_CERTS, DATA_DIR: dataDir, PORT, POLL_MIN_SECONDS: '0.5' };
  say('starting the service in a temporary folder');
  const demo = await startService(env);
  const stop = async () => {
    if (demo.service.exitCode === null) {
      demo.service.kill('SIGTERM');
      await once(demo.service, 'exit');
    }
    await rm(dataDir, { recursive: true, force: true });
  };
  process.once('SIGINT', () => void stop().then(() => process.exit(130)));
  try {
    await tour(demo);
  } finally {
    await stop();
  }
  say('stopped; the temporary folder is removed');
  process.stdout.write(NEXT);
}

await main();
