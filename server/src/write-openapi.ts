import { writeFile } from 'node:fs/promises';
import { DEFAULT_BRAND } from './brand/brand.ts';
import { BUILT_IN } from './catalog/catalog.ts';
import { describePublicApi } from './http/openapi/openapi.ts';

export const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url);

export async function openApiText(): Promise<string> {
  return `${JSON.stringify(await describePublicApi(BUILT_IN, new Date(0), DEFAULT_BRAND.name), null, 2)}\n`;
}

if (import.meta.main) await writeFile(OPENAPI_FILE, await openApiText());
