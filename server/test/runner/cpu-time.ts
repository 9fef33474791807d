import { appendFileSync, readFileSync } from 'node:fs';

/** Seconds of CPU time of a process, and of the processes that it waited for. */
export interface CpuTime {
  own: number;
  children: number;
}

/** The CPU time of this process. Linux only, otherwise undefined. */
export function cpuTime(): CpuTime | undefined {
  let stat: string;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return undefined;
  }
  // After the name in parentheses, which may have spaces: fields 14 to 17 of proc(5), in 1/100 s.
  const ticks = stat.split(') ').at(-1)?.split(' ').slice(11, 15).map(Number) ?? [];
  const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = ticks;
  return { own: (user + system) / 100, children: (ofChildren + systemOfChildren) / 100 };
}

/** Notes for the runner what a test file has taken since it began. */
export function noteCpuTime(file: string, begin: CpuTime = { own: 0, children: 0 }): void {
  const notes = process.env.FRAMEWRIGHT_CPU_NOTES;
  const now = cpuTime();
  if (notes === undefined || !now) return;
  const taken: CpuTime = { own: now.own - begin.own, children: now.children - begin.children };
  appendFileSync(notes, `${JSON.stringify([file, taken])}\n`);
}

/** What the files have noted. */
export function notedCpuTimes(notes: string): Map<string, CpuTime> {
  try {
    const lines = readFileSync(notes, 'utf8').trimEnd().split('\n');
    return new Map(lines.map((line): [string, CpuTime] => JSON.parse(line)));
  } catch {
    return new Map();
  }
}
