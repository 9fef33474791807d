import { readdir, readFile } from 'node:fs/promises';
import { type Database, statement } from '../server/src/database/database.ts';

/** Linux counts the CPU time of a process in hundredths of a second (proc(5), USER_HZ). */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  parent: number;
  seconds: number;
  /** Of its children that have ended. */
  endedSeconds: number;
}

/** CPU times are read from /proc, which other systems lack. */
export const HAS_CPU_TIMES = process.platform === 'linux';

/** @returns zeros when the process has ended */
async function timesOf(pid: number): Promise<ProcessTimes> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // After the name, which is in parentheses: the parent is field 4, the times are 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
  return {
    parent: Number(fields[1]),
    seconds: (user + system) / TICKS_PER_SECOND,
    endedSeconds: (endedUser + endedSystem) / TICKS_PER_SECOND,
  };
}

/** The CPU time of a process, of its own and of the kernel for it. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await timesOf(pid)).seconds;
}

/** The CPU time of a process and of all processes below it, ended ones too. */
export async function treeSeconds(root: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const times = new Map(
    await Promise.all(pids.map(async (pid) => [pid, await timesOf(pid)] as const)),
  );
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined; at = times.get(at)?.parent) {
      if (at === root) return true;
    }
    return false;
  };
  let total = 0;
  for (const [pid, { seconds, endedSeconds }] of times) {
    if (isBelow(pid)) total += seconds + endedSeconds;
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
