import type { Body } from './form-model.ts';

const PLACEHOLDERS: Record<string, string> = {
  image_url: 'https://example.com/first.png',
  end_image_url: 'https://example.com/last.png',
  reference_image_urls: 'https://example.com/reference.png',
  reference_video_urls: 'https://example.com/reference.mp4',
};

/** Stands for the prompt, which the API requires, until there is one. */
const PROMPT = 'Describe your video here';

/** The body for the public API, which takes no uploads: each becomes an address to replace. */
export function publicBody(form: Body): { body: Body; hasPlaceholders: boolean } {
  let hasPlaceholders = false;
  const body = form.prompt === '' ? { ...form, prompt: PROMPT } : form;
  const replaced = (field: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => replaced(field, one));
    if (typeof value !== 'string' || !value.startsWith('upload:')) return value;
    hasPlaceholders = true;
    return PLACEHOLDERS[field] ?? value;
  };
  const entries = Object.entries(body).map(([field, value]) => [field, replaced(field, value)]);
  return { body: Object.fromEntries(entries), hasPlaceholders };
}

/** The same request in three languages. */
export function samplesOf(apiUrl: string, body: Body): Record<string, string> {
  const url = `${apiUrl}/api/v1/video/generations`;
  const json = JSON.stringify(body, null, 2);
  return {
    curl: `curl ${url} \\
  -H "Authorization: Bearer $FRAMEWRIGHT_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -d '${indented(json.replaceAll("'", String.raw`'\''`), 2)}'`,
    TypeScript: `import { env } from 'node:process';

const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${env.FRAMEWRIGHT_KEY}\`,
    'Content-Type': 'application/json',
    // Keep it, and send it again if no response comes: nothing is made or charged twice.
    'Idempotency-Key': crypto.randomUUID(),
  },
  body: JSON.stringify(${indented(json, 2)}),
});
console.log(await response.json());`,
    Python: `import os, uuid, httpx

response = httpx.post(
    "${url}",
    headers={
        "Authorization": f"Bearer {os.environ['FRAMEWRIGHT_KEY']}",
        # Keep it, and send it again if no response comes: nothing is made or charged twice.
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json=${indented(pythonText(body), 4)},
    timeout=60,
)
print(response.json())`,
  };
}

function indented(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}

/** A body as Python writes it. */
function pythonText(body: Body): string {
  const lines = Object.entries(body).map(([name, value]) => {
    const text = typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
    return `    ${JSON.stringify(name)}: ${text},`;
  });
  return `{\n${lines.join('\n')}\n}`;
}
