import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The command that runs a test file again with these variables, from the project's root folder. */
export function replayCommand(file: string, variables: Record<string, number>): string {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return [...settings, 'npx node server/test/run.ts', path.relative(ROOT, file)].join(' ');
}
