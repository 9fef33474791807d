import { VERSION } from '../../clients/typescript/src/version.ts';

export const FIRST_REQUEST = {
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-fast',
  resolution: '720p',
  duration: 5,
};

/** An Idempotency-Key that the caller chose, so that a retry after a crash is safe. */
export const FIRST_IDEMPOTENCY_KEY = 'order-4711';

/** @param apiUrl with /api/v1 */
function packageUrl(apiUrl: string, name: 'client' | 'cli' | 'python'): string {
  const file =
    name === 'python'
      ? `framewright_client-${VERSION}-py3-none-any.whl`
      : `framewright-${name}-${VERSION}.tgz`;
  return `${apiUrl.replace(/\/api\/v1$/, '')}/packages/${file}`;
}

/** Tests run this text. @param apiUrl with /api/v1 */
export function typeScriptSample(
  apiUrl: string,
  body: Readonly<Record<string, unknown>>,
  idempotencyKey?: string,
): string {
  const options =
    idempotencyKey === undefined ? '' : `, { idempotencyKey: ${typeScriptText(idempotencyKey)} }`;
  return `// npm install ${packageUrl(apiUrl, 'client')}
import { Framewright } from '@framewright/client';

// The API key is FRAMEWRIGHT_API_KEY of the environment.
const client = new Framewright({ baseUrl: '${apiUrl}' });
// All tries have one Idempotency-Key: they are charged once.
const video = await client.generate(${typeScriptObject(body)}${options});
await video.download('video.mp4');`;
}

export function typeScriptObject(body: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(body).map(
    ([name, value]) => `  ${name}: ${typeScriptText(value)},\n`,
  );
  return `{\n${members.join('')}}`;
}

function typeScriptText(value: unknown): string {
  const json = JSON.stringify(value);
  if (typeof value !== 'string') return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Tests run this text. @param fields the body of a create, and options of the client */
export function pythonSample(apiUrl: string, fields: Readonly<Record<string, unknown>>): string {
  return `# pip install ${packageUrl(apiUrl, 'python')}
from framewright_client import Framewright

# The API key is FRAMEWRIGHT_API_KEY of the environment.
with Framewright(base_url="${apiUrl}") as client:
    # All tries have one Idempotency-Key: a lost response is never charged twice.
    video = client.generate(
${pythonArguments(fields, 8)}    )
    video.download("video.mp4")`;
}

export function pythonArguments(fields: Readonly<Record<string, unknown>>, indent: number): string {
  return Object.entries(fields)
    .map(([name, value]) => `${' '.repeat(indent)}${name}=${pythonText(value)},\n`)
    .join('');
}

/** A Python literal; texts, numbers and lists are the same as in JSON. */
function pythonText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

/** Options of `fw generate` that are not named after their field. */
const OPTIONS: Record<string, string> = {
  image_url: '--image',
  end_image_url: '--end-image',
  reference_image_urls: '--reference',
  reference_video_urls: '--reference',
  generate_audio: '--no-audio',
};

/** Tests run this text. */
export function fwSample(apiUrl: string, body: Readonly<Record<string, unknown>>): string {
  return `# npm install --global ${packageUrl(apiUrl, 'cli')}
fw login --base-url ${apiUrl}

# It shows the price and asks. After a crash, fw resume goes on: it is never charged twice.
fw generate ${[...fwWords(body), '-o video.mp4'].join(' \\\n  ')}`;
}

/** A create's body as arguments of `fw generate`, which derives the mode from them. */
export function fwWords(body: Readonly<Record<string, unknown>>): string[] {
  const { prompt, mode: _, reference_video_durations: seconds, ...fields } = body;
  const options = Object.entries(fields).flatMap(([field, given]) => {
    const option = OPTIONS[field] ?? `--${field.replaceAll('_', '-')}`;
    if (typeof given === 'boolean') return given === option.startsWith('--no-') ? [] : [option];
    const isVideo = field === 'reference_video_urls' && Array.isArray(seconds);
    return [given].flat().map((value, i) => {
      return `${option} ${shellText(isVideo ? `${value}#${seconds[i]}` : String(value))}`;
    });
  });
  return [shellText(String(prompt)), ...options];
}

function shellText(text: string): string {
  return /^[\w.,:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
