import { readFileSync } from 'node:fs';

/** The version of the service, of its schema's promises and of the clients that it serves. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;
