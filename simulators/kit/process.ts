import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { RequestLineSchema } from './control.ts';
import type { Plan } from './faults.ts';
import { BaseJobSchema } from './record.ts';

/** A simulator in another process, as a test controls it. */
export type SimulatorProcess = Awaited<ReturnType<typeof startSimulator>>;

/**
 * Starts `simulators/provider.ts NAME`.
 * @param args its options; by default a free port and a record in `folder`
 */
export async function startSimulator(name: string, folder: string, args: string[] = []) {
  const script = new URL('../provider.ts', import.meta.url).pathname;
  const own = ['--port', '0', '--record', `${folder}/${name}.jsonl`, '--until-stdin-ends'];
  const child = spawn(process.execPath, [script, name, ...own, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const url = await urlOf(child);
  return {
    /** `http://127.0.0.1:PORT` */
    url,
    async plan(plan: Plan) {
      await ask(url, 'POST', 'faults', plan);
    },
    async clearPlans() {
      await ask(url, 'DELETE', 'faults');
    },
    jobs: async () => expect(Type.Array(BaseJobSchema), await ask(url, 'GET', 'jobs')),
    /** Overwrites fields of a job, for example `{ forcedStatus: 'expired' }`. */
    async changeJob(id: string, changes: Record<string, unknown>) {
      await ask(url, 'POST', `jobs/${id}`, changes);
    },
    requests: async () => expect(Type.Array(RequestLineSchema), await ask(url, 'GET', 'requests')),
    /** Kills it, by default with SIGKILL, and resolves when it is gone. */
    async kill(signal: NodeJS.Signals = 'SIGKILL') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, 'exit');
    },
  };
}

async function ask(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await fetch(`${url}/_simulator/${path}`, init);
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

/** Checks the value and returns it unchanged, with its additional fields. */
function expect<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  if (!Value.Check(schema, value)) throw new Error('the simulator sent an invalid response');
  return value;
}

/** Reads the address from the first line that the simulator prints. */
async function urlOf(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let output = '';
  child.stdout?.on('data', (bytes) => {
    output += bytes;
    const url = /listens at (http:\S+)\n/.exec(output)?.[1];
    if (url) resolve(url);
  });
  child.once('exit', () => reject(new Error(`the simulator ended before it listened: ${output}`)));
  return promise;
}
