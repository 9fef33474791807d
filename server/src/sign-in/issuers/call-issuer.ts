import { callOnce } from '../../outbound/call.ts';

const TIMEOUT_SECONDS = 10;

/** One call to an issuer, such as `fetch` makes: bounded in time and size, without redirects. */
export async function callIssuer(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string | undefined } = {},
): Promise<Response> {
  const own = { 'user-agent': 'framewright', accept: 'application/json', ...headers };
  const outcome = await callOnce({
    url,
    method,
    body,
    timeoutSeconds: TIMEOUT_SECONDS,
    headers: {
      ...own,
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    },
  });
  if (outcome.kind !== 'responded') {
    throw new Error(`${new URL(url).host} does not respond: ${outcome.cause}`);
  }
  const { status, headers: received } = outcome;
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : new Uint8Array(outcome.body), {
    status,
    headers: received,
  });
}
