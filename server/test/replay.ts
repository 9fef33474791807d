import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { LONG } from './long.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The command that runs a test file again with this seed, from the project's root folder. */
export function replayCommand(file: string, seed: number): string {
  const amount = LONG ? ' FRAMEWRIGHT_TESTS=all' : '';
  return `FRAMEWRIGHT_SEED=${seed}${amount} npx node server/test/run.ts ${path.relative(ROOT, file)}`;
}
