import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Random } from '../random.ts';

/** A program that continues its work when it is started again. */
export interface Program {
  command: string;
  args: string[];
}

/**
 * Runs a program until it ends by itself, and kills it at random moments before.
 * @returns how often it was killed
 * @throws Error with what it printed, when it fails by itself
 */
export async function runKilled(
  { command, args }: Program,
  { env, kills, random }: { env: NodeJS.ProcessEnv; kills: number; random: Random },
): Promise<number> {
  for (let done = 0; ; done++) {
    const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'pipe'] });
    const seconds = random.between(1, 8);
    const timer =
      done < kills ? setTimeout(() => child.kill('SIGKILL'), 1000 * seconds) : undefined;
    const text = await errorsOf(child);
    clearTimeout(timer);
    if (child.signalCode === 'SIGKILL') continue;
    if (child.exitCode !== 0) throw new Error(`the client ended with ${child.exitCode}:\n${text}`);
    return done;
  }
}

async function errorsOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  await once(child, 'close');
  return text;
}
