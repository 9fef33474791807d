/** CPU time and memory of processes, from Linux's /proc (proc(5)). */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../server/src/database/database.ts';

export const IS_LINUX = process.platform === 'linux';

/** USER_HZ. */
const TICKS_PER_SECOND = 100;

/** @returns zeros when the process has ended */
async function timesOf(pid: number) {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // After the name, which is in parentheses: the parent is field 4, the times are 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
  return {
    parent: Number(fields[1]),
    seconds: (user + system) / TICKS_PER_SECOND,
    endedChildrenSeconds: (endedUser + endedSystem) / TICKS_PER_SECOND,
  };
}

/** The CPU time of a process, of its own and of the kernel for it. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await timesOf(pid)).seconds;
}

/** The CPU time of a process and of all processes below it, ended ones too. */
export async function treeSeconds(root: number): Promise<number> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const times = new Map(
    await Promise.all(pids.map(async (pid) => [pid, await timesOf(pid)] as const)),
  );
  const isBelow = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && isBelow(times.get(pid)?.parent));
  let total = 0;
  for (const [pid, { seconds, endedChildrenSeconds }] of times) {
    if (isBelow(pid)) total += seconds + endedChildrenSeconds;
  }
  return total;
}

const SERVER = statement(
  'bench_server',
  `select pg_read_file('postmaster.pid', 0, 10)::text as text`,
);

/** The id of the main process of a database's server. */
export async function serverPid(db: Database): Promise<number> {
  const [server] = await db.query<{ text: string }>(SERVER);
  return Number.parseInt(server?.text ?? '', 10);
}

/** Resident memory of a process, now and at its peak; zeros when it has ended. */
export async function residentMemory(
  pid: number,
): Promise<{ nowBytes: number; peakBytes: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { nowBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') };
}

/** Resets the peak of a process to its present memory. */
export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** The largest peak of any single child process while `work` is under way. */
export async function peakOfChildren(pid: number, work: Promise<unknown>): Promise<number> {
  let peakBytes = 0;
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (const child of await childrenOf(pid)) {
      peakBytes = Math.max(peakBytes, (await residentMemory(child)).peakBytes);
    }
    await Promise.race([over, delay(20)]);
  }
  return peakBytes;
}

export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}
