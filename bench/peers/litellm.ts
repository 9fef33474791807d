import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export const VERSION = '1.106.2';
const PROGRAM = 'litellm/bin/litellm';
const KEY = 'sk-0123456789abcdef0123456789abcdef';
/** In dollars, from the numbers of the upstream: 1000 tokens each way. */
const PRICE = 0.002;

const configOf = (upstreamUrl: string, budget: string) => `
model_list:
  - model_name: gpt-3.5-turbo
    litellm_params:
      model: openai/gpt-3.5-turbo
      api_base: ${upstreamUrl}/v1
      api_key: none
      input_cost_per_token: 0.000001
      output_cost_per_token: 0.000001
  - model_name: sora-2
    litellm_params: { model: openai/sora-2, api_base: "${upstreamUrl}/v1", api_key: none }
general_settings:
  master_key: ${KEY}
litellm_settings:
  set_verbose: false
  json_logs: true
${budget}`;

/** The settings of its page on production: a worker per core, few logs. */
const ENV = {
  LITELLM_MODE: 'PRODUCTION',
  LITELLM_LOG: 'ERROR',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True', // the list of prices of its package: nothing is fetched
};

/** Installs it into the folder, unless it is there. @throws Error with what the installer printed */
export async function installLitellm(folder: string): Promise<void> {
  if (existsSync(path.join(folder, PROGRAM))) return;
  const run = promisify(execFile);
  const options = { cwd: folder, maxBuffer: 1e8 };
  await run('python3', ['-m', 'venv', 'litellm'], options);
  const pip = path.join(folder, 'litellm/bin/pip');
  await run(pip, ['install', '-q', `litellm[proxy]==${VERSION}`], options);
}

/** Starts it before an upstream, whose address has no slash at its end. */
export async function startLitellm(place: { folder: string; upstreamUrl: string; port: number }) {
  const { port } = place;
  const running = await startProxy(place, '', availableParallelism());
  const headers = { authorization: `Bearer ${KEY}` };
  const video = JSON.stringify({ model: 'sora-2', prompt: 'A lighthouse', seconds: '4' });
  return {
    ...running,
    /** An authenticated read and a create, as texts of HTTP/1.1. */
    requests: {
      read: requestText(port, 'GET /v1/models', headers),
      create: requestText(port, 'POST /v1/videos', headers, video),
    },
    /** Sends parallel requests. Budgets of keys need its database; that of the proxy is in memory. */
    async overspend(): Promise<string> {
      const budget = `  max_budget: ${PRICE * BUDGET}\n  budget_duration: 30d\n`;
      await using _limited = await startProxy({ ...place, port: port + 1 }, budget, 1);
      const url = `http://127.0.0.1:${port + 1}/v1/chat/completions`;
      const first = await served(PARALLEL, url, CHAT, () => headers);
      const later = await served(BUDGET, url, CHAT, () => headers);
      return `${first} of ${PARALLEL} served on the budget of the whole proxy; of ${BUDGET} later ones ${later}`;
    },
  };
}

const START_SECONDS = 90;

/** In a process group of its own. @throws Error with its output, when it does not respond */
async function startProxy(
  { folder, upstreamUrl, port }: Parameters<typeof startLitellm>[0],
  budget: string,
  workers: number,
): Promise<{ pid: number } & AsyncDisposable> {
  const config = `litellm-${port}.yaml`;
  await writeFile(path.join(folder, config), configOf(upstreamUrl, budget));
  const where = ['--host', '127.0.0.1', '--port', `${port}`, '--num_workers', `${workers}`];
  const child = spawn(path.join(folder, PROGRAM), ['--config', config, ...where], {
    cwd: folder,
    detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...ENV },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output = (output + bytes).slice(-4000);
    });
  }
  for (let tries = 0; !(await isLive(port)); tries += 1) {
    if (child.exitCode !== null || tries > START_SECONDS * 5) {
      await end(child);
      throw new Error(`LiteLLM does not respond: ${output}`);
    }
    await delay(200);
  }
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => end(child) };
}

function isLive(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health/liveliness`).then(
    ({ status }) => status < 500,
    () => false,
  );
}

/** Ends the whole group, with its workers. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await exited;
}

function requestText(port: number, line: string, headers: object, body = ''): string {
  const length = body && { 'content-type': 'application/json', 'content-length': body.length };
  const lines = Object.entries({ ...headers, ...Object(length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${line} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${head}\r\n${body}`;
}

const CHAT = JSON.stringify({
  model: 'gpt-3.5-turbo',
  messages: [{ role: 'user', content: 'A lighthouse at dawn, waves below' }],
});

/** So many requests at once, on a budget for so many. */
export const PARALLEL = 200;
export const BUDGET = 10;

/** Posts JSON so many times at once. @returns how many got a status below 300 */
export async function served(
  count: number,
  url: string,
  body: string,
  headersOf: (turn: number) => Record<string, string>,
): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: count }, async (_, turn) => {
      const headers = { ...headersOf(turn), 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', body, headers });
      await response.arrayBuffer();
      return response.status;
    }),
  );
  return statuses.filter((status) => status < 300).length;
}
