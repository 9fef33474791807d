import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Resident memory of a process in bytes, now and at its peak (Linux's /proc; see proc(5)). */
interface ResidentMemory {
  nowBytes: number;
  peakBytes: number;
}

/** @returns zeros when the process has ended */
export async function residentMemory(pid: number): Promise<ResidentMemory> {
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

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}
