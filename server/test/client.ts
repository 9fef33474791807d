/** A response of the API with its JSON body parsed. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

export interface Client {
  create(body: unknown, idempotencyKey?: string): Promise<ApiResponse>;
  task(id: string): Promise<ApiResponse>;
  credits(): Promise<ApiResponse>;
}

/** A small client of the public API. */
export function client(url: string, secret: string): Client {
  const headers = { authorization: `Bearer ${secret}` };
  return {
    create: (body, idempotencyKey = crypto.randomUUID()) =>
      send(`${url}/api/v1/video/generations`, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    task: (id) => send(`${url}/api/v1/tasks/${encodeURIComponent(id)}`, { headers }),
    credits: () => send(`${url}/api/v1/credits`, { headers }),
  };
}

/** Sends a request and parses the JSON of the response; an empty body is null. */
export async function send(url: string, init: RequestInit): Promise<ApiResponse> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : JSON.parse(text),
  };
}
