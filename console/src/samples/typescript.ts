import { packageUrl } from './packages.ts';

/**
 * A video by the TypeScript client: the text that its tests run.
 * @param apiUrl with /api/v1
 * @param body of a create
 * @param key the caller's own Idempotency-Key, if it has one
 */
export function typeScriptSample(
  apiUrl: string,
  body: Readonly<Record<string, unknown>>,
  key?: string,
): string {
  const options = key === undefined ? '' : `, { idempotencyKey: ${typeScriptText(key)} }`;
  return `// npm install ${packageUrl(apiUrl, 'client')}
import { Framewright } from '@framewright/client';

// The API key is FRAMEWRIGHT_API_KEY of the environment.
const client = new Framewright({ baseUrl: '${apiUrl}' });
// All tries have one Idempotency-Key: they are charged once.
const video = await client.generate(${typeScriptObject(body)}${options});
await video.download('video.mp4');`;
}

/** An object, one member in a line. */
export function typeScriptObject(body: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(body).map(
    ([name, value]) => `  ${name}: ${typeScriptText(value)},\n`,
  );
  return `{\n${members.join('')}}`;
}

/** A value as a program has it, a text in single quotes. */
function typeScriptText(value: unknown): string {
  const json = JSON.stringify(value);
  if (typeof value !== 'string') return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
