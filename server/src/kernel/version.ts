import { readFileSync } from 'node:fs';

/** The version of the service, and of the clients that it serves at `/packages/`. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;
