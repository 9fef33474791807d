import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

// Writes the blocking client of the Python SDK: `node clients/python/sync-client.ts`.

const FOLDER = path.join(import.meta.dirname, 'src/framewright_client');
const ASYNC_CLIENT = path.join(FOLDER, '_async_client.py');
export const SYNC_CLIENT = path.join(FOLDER, '_client.py');

/** In this order. Names with Async lose it. */
const REPLACEMENTS: [RegExp, string][] = [
  [/^""".*"""/, '"""The client for code that blocks, written by sync-client.ts."""'],
  [/\basync |await /g, ''],
  [/\basynccontextmanager\b/g, 'contextmanager'],
  [/Async(?=[A-Z])/g, ''],
  [/__a(enter|exit)__/g, '__$1__'],
  [/\baclose\b/g, 'close'],
  [/Its calls may run at the same time\./, 'Threads may share it.'],
];

/** The text of _client.py: the asynchronous client without what makes it asynchronous. */
export function syncClientText(): string {
  const text = readFileSync(ASYNC_CLIENT, 'utf8');
  return REPLACEMENTS.reduce((text, [from, to]) => text.replace(from, to), text);
}

if (import.meta.main) writeFileSync(SYNC_CLIENT, syncClientText());
