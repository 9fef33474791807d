import { ignoringErrors } from './personal.ts';
import { fillPath, type Given, type RequestParts, type Result, type Route } from './site-api.ts';

export class ApiFailure extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** A code of docs/customers/ERRORS.md; `offline` without a response. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(message: string, facts: Pick<ApiFailure, 'status' | 'code'> & Partial<ApiFailure>) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.details = facts.details ?? {};
  }
}

/**
 * Calls the website's API. If it requires a fresh proof, asks for one and retries.
 * @param route such as `PATCH /console/api/keys/:id`
 * @returns the JSON of the response; undefined if it has none
 * @throws ApiFailure unless the response is successful
 */
export function api<Name extends Route>(
  route: Name,
  ...given: RequestParts<Name>
): Promise<Result<Name>>;
export function api(route: string, given: Given = {}): Promise<unknown> {
  const [method = '', path = ''] = route.split(' ');
  return request(method, fillPath(path, given), given);
}

/** Like `api`, for URLs built at run time. */
export async function request(
  method: string,
  address: string,
  given: Pick<Given, 'body' | 'headers' | 'signal'> = {},
): Promise<unknown> {
  const send = () => call(method, address, given);
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== 'proof_required') throw error;
    if (await askForProof(error)) return send();
    error.message = 'You did not confirm that it is you, so nothing was changed.';
    throw error;
  }
}

async function call(method: string, address: string, given: Given): Promise<unknown> {
  const { body, headers, signal = null } = given;
  const isFile = body instanceof Blob;
  const type = isFile ? body.type || 'application/octet-stream' : 'application/json';
  const init = {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
    body: isFile ? body : JSON.stringify(body),
    signal,
  };
  const sentAt = performance.now();
  const read = async (response: Response) => ({ response, text: await response.text() });
  const answer = fetch(address, init).then(read);
  const { response, text } = await answer.catch((error) => {
    throw signal?.aborted ? error : offline();
  });
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const json: unknown = ignoringErrors(() => JSON.parse(text));
  if (response.ok) return json;
  if (response.status === 401) onSignedOut(sentAt);
  throw failureOf(response.status, json, requestId);
}

function offline(): ApiFailure {
  const message = 'The service can’t be reached. Check your connection, then try again.';
  return new ApiFailure(message, { status: 0, code: 'offline' });
}

export function failureOf(
  status: number,
  json: unknown,
  requestId: string | undefined,
): ApiFailure {
  const { error } = (json ?? {}) as { error?: Pick<ApiFailure, 'code' | 'message' | 'details'> };
  const { code = 'internal_error', message = `The service answered ${status}.` } = error ?? {};
  return new ApiFailure(message, { status, requestId, code, details: error?.details ?? {} });
}

/** An error message for display at its field: leaves out the field's API name. */
export function besideField({ message, details }: ApiFailure): string {
  const name = String(details.field);
  const [, colon, rest] = /^(?:\[\d+\])?(:?) (.*)$/s.exec(message.slice(name.length)) ?? [];
  if (rest === undefined || !message.startsWith(name)) return message;
  return colon ? rest : `This ${rest}`;
}

let onSignedOut: (sentAt: number) => void = () => {};

/** @param listener called after a 401 with the time its request was sent (`performance.now()`) */
export function whenSignedOut(listener: (sentAt: number) => void): void {
  onSignedOut = listener;
}

let askForProof: (failure: ApiFailure) => Promise<boolean> = async () => false;

/** @param ask gets the response that requires a proof; returns whether the user gave the proof */
export function whenProofIsRequired(ask: (failure: ApiFailure) => Promise<boolean>): void {
  askForProof = ask;
}
