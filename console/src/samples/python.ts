import { packageUrl } from './packages.ts';

/**
 * A video by the Python client: the text that its tests run.
 * @param apiUrl with /api/v1
 * @param fields the arguments of the call: the body of a create, and options of the client
 */
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

/** The arguments of a call, one in a line. */
export function pythonArguments(fields: Readonly<Record<string, unknown>>, indent: number): string {
  return Object.entries(fields)
    .map(([name, value]) => `${' '.repeat(indent)}${name}=${pythonText(value)},\n`)
    .join('');
}

/** A value as Python writes it. Its texts, numbers and lists are written as in JSON. */
function pythonText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}
