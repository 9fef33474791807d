import { writeFile } from 'node:fs/promises';
import { describePublicApi } from './http/openapi/openapi.ts';

/** The file of the public API's OpenAPI document. */
export const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url);

/** The text of openapi.json, made from the endpoints. It is the same each time. */
export async function openApiText(): Promise<string> {
  return `${JSON.stringify(await describePublicApi(), null, 2)}\n`;
}

if (import.meta.main) await writeFile(OPENAPI_FILE, await openApiText());
