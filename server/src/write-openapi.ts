import { writeFile } from 'node:fs/promises';
import { describePublicApi } from './http/public/openapi.ts';

/** Where the description of the public API is kept. */
export const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url);

/** The text of openapi.json, written from the endpoints; the same text each time. */
export async function openApiText(): Promise<string> {
  return `${JSON.stringify(await describePublicApi(), null, 2)}\n`;
}

if (import.meta.main) await writeFile(OPENAPI_FILE, await openApiText());
