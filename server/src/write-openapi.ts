import { writeFile } from 'node:fs/promises';
import { type AppDeps, createApp } from './http/app.ts';
import { createLog } from './kernel/log.ts';

/** Where the description of the public API is kept. */
export const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url);

/** What stands in for every part of the app: the routes are read, and never asked. */
function unasked(): never {
  throw new Error('describing the API asks no part of the service');
}

const UNASKED: AppDeps = {
  db: { query: unasked, transaction: unasked, snapshot: unasked, close: unasked },
  queue: {
    enqueue: unasked,
    wake: unasked,
    work: unasked,
    stopWorking: unasked,
    close: unasked,
  },
  storage: { put: unasked, open: unasked, delete: unasked },
  links: {
    linkTo: unasked,
    inputLinkTo: unasked,
    expiryOf: unasked,
    callbackTo: unasked,
    attemptOf: unasked,
  },
  waiting: { outcome: unasked, stop: unasked },
  providers: new Map(),
  log: createLog({ level: 'silent' }),
  allow: new Set(),
  providerName: 'local',
  createWaitSeconds: 0,
  isReady: unasked,
};

/** The text of openapi.json, written from the routes; the same text each time. */
export async function openApiText(): Promise<string> {
  const app = await createApp(UNASKED);
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  return text;
}

if (import.meta.main) await writeFile(OPENAPI_FILE, await openApiText());
