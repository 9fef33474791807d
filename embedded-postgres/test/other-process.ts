import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

/** Another process that has the embedded database open. */
export interface OtherProcess {
  child: ChildProcess;
  url: string;
  startedHere: boolean;
  created: boolean;
  /** Makes it close the database and end. */
  close(): Promise<void>;
  kill(): Promise<void>;
}

const PROGRAM = `
  import { openEmbeddedDatabase } from '${new URL('../embedded-postgres.ts', import.meta.url).href}';
  import { silentLog as log } from '${new URL('./silent-log.ts', import.meta.url).href}';
  const [dataDir] = process.argv.slice(-1);
  const print = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
  try {
    const database = await openEmbeddedDatabase({ dataDir, log, settings: { fsync: 'off' } });
    print(database);
    process.stdin.once('end', () => database.close()).resume();
  } catch (error) {
    print({ refusal: error.name + ': ' + error.message });
  }
`;

const { NODE_COMPILE_CACHE } = process.env;

/** Starts a process that opens the database. Does not wait until it is open. */
export function spawnOpener(dataDir: string, uid?: number): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, '--', dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: '/',
    env: NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

/** Opens the database in another process; with `uid` as that OS user (root only). */
export async function openInOtherProcess(dataDir: string, uid?: number): Promise<OtherProcess> {
  const child = spawnOpener(dataDir, uid);
  const ended = once(child, 'exit');
  const opened = await firstLine(child);
  if (opened.refusal !== undefined) throw new Error(opened.refusal);
  return {
    ...opened,
    child,
    close: async () => {
      child.stdin?.end();
      await ended;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function firstLine(child: ChildProcess) {
  if (child.stdout === null) throw new Error('the other process has no standard output');
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line);
  throw new Error('the other process printed nothing');
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Checks every 10 ms until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}
