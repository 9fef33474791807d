import assert from 'node:assert/strict';

/** A response of the API with its JSON body parsed. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

export type Client = ReturnType<typeof client>;

/** The body of a create with the lowest price: 60 credits. */
export const SMALLEST = {
  model: 'video-2.0-mini',
  prompt: 'A door that closes',
  duration: 4,
  resolution: '480p',
  generate_audio: false,
};

/** A small client of the public API. */
export function client(url: string, secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  return {
    create: (body: unknown, idempotencyKey: string = crypto.randomUUID()) =>
      send(`${url}/api/v1/video/generations`, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    task: (id: string) => send(`${url}/api/v1/tasks/${encodeURIComponent(id)}`, { headers }),
    credits: () => send(`${url}/api/v1/credits`, { headers }),
  };
}

/** Sends a request and parses the JSON of the response; an empty body is null. */
export async function send(url: string, init: RequestInit): Promise<ApiResponse> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parseBody(text) };
}

/**
 * The JSON of a response; an empty one is null.
 * @throws AssertionError if a time in it is not in RFC 3339 with milliseconds and Z
 */
export function parseBody(text: string): unknown {
  if (text === '') return null;
  return JSON.parse(text, (name, value) => {
    const isTime = /^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-][\d:]+)?$/.test(value);
    if (isTime) assert.match(value, /^.{10}T.{8}\.\d{3}Z$/, `the time ${name} of a response`);
    return value;
  });
}
