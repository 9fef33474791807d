import { fwSample, pythonSample, typeScriptSample } from '../../samples.ts';
import type { Body } from './form-model.ts';

/** The placeholder until there is a prompt, which the API requires. */
const PROMPT = 'Describe your video here';

/** The body for the public API, where an upload is a URL of this service. */
export function publicBody(form: Body, apiUrl: string): Body {
  const body = form.prompt === '' ? { ...form, prompt: PROMPT } : form;
  const withUrls = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withUrls);
    return typeof value === 'string' ? value.replace(/^upload:/, `${apiUrl}/uploads/`) : value;
  };
  return Object.fromEntries(
    Object.entries(body).map(([field, value]) => {
      return [field, field === 'prompt' ? value : withUrls(value)];
    }),
  );
}

export function samplesOf(apiUrl: string, body: Body): Record<string, string> {
  const url = `${apiUrl}/api/v1`;
  return {
    curl: curlOf(url, body),
    TypeScript: typeScriptSample(url, body),
    Python: pythonSample(url, body),
    fw: fwSample(url, body),
  };
}

const QUOTE = 'What it costs. Nothing is reserved.';
const CREATE =
  'Send it with the same Idempotency-Key until it is accepted: it is never charged twice.';
const WAIT = 'The response comes when the video has ended, or after 30 seconds.';

function curlOf(url: string, body: Body): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return `BODY='${json}'

# ${QUOTE}
curl ${url}/video/quotes \\
  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d "$BODY"

# ${CREATE}
KEY=$(uuidgen)
curl ${url}/video/generations \\
  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: $KEY" \\
  -d "$BODY"

# ${WAIT}
curl ${url}/tasks/TASK_ID \\
  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" \\
  -H "Prefer: wait=30"`;
}
