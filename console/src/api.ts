/** An error of the website's API, or of the way to it. */
export class ApiFailure extends Error {
  /** The HTTP status; 0 when no response came. */
  readonly status: number;
  /** A code of docs/ERRORS.md; `offline` when no response came. */
  readonly code: string;
  /** Of the response; undefined when none came. */
  readonly requestId: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(
    message: string,
    facts: {
      status: number;
      code: string;
      requestId?: string | undefined;
      details?: Record<string, unknown>;
    },
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.details = facts.details ?? {};
  }

  get isOffline(): boolean {
    return this.code === 'offline';
  }
}

export interface ApiOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON; a Blob is sent as it is, with its own type. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/**
 * Calls the website's API on this origin, with the session's cookie. If the person must confirm
 * first that it is still them, they are asked, and the request is sent again.
 * @param path such as `/console/api/keys`
 * @returns the JSON of the response; undefined after a 204
 * @throws ApiFailure for every response that is no success, and when none came
 */
export async function api<Result>(path: string, options: ApiOptions = {}): Promise<Result> {
  try {
    return await call(path, options);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== 'proof_required') throw error;
    if (!(await askForProof(error))) throw unconfirmed(error);
    return call(path, options);
  }
}

async function call<Result>(path: string, options: ApiOptions): Promise<Result> {
  const response = await send(path, options);
  const text = await response.text().catch(() => {
    throw offline();
  });
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const json = parse(text);
  if (response.ok) return json as Result;
  if (response.status === 401) onSignedOut();
  throw failureOf(response.status, json, requestId);
}

function unconfirmed({ status, code, requestId, details }: ApiFailure): ApiFailure {
  const message = 'You did not confirm that it is you, so nothing was changed.';
  return new ApiFailure(message, { status, code, requestId, details });
}

async function send(path: string, options: ApiOptions): Promise<Response> {
  const { method = 'GET', body, headers = {}, signal } = options;
  const isRaw = body instanceof Blob;
  const type = isRaw ? body.type : 'application/json';
  try {
    return await fetch(path, {
      method,
      headers: body === undefined ? headers : { 'content-type': type, ...headers },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw offline();
  }
}

function offline(): ApiFailure {
  const message = 'The service can’t be reached. Check your connection, then try again.';
  return new ApiFailure(message, { status: 0, code: 'offline' });
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failureOf(status: number, json: unknown, requestId: string | undefined): ApiFailure {
  const { error } = (json ?? {}) as {
    error?: { code: string; message: string; details?: Record<string, unknown> };
  };
  return new ApiFailure(error?.message ?? `The service answered ${status}.`, {
    status,
    requestId,
    code: error?.code ?? 'internal_error',
    details: error?.details ?? {},
  });
}

let onSignedOut = () => {};

/** Names what is called when a response says that there is no session any more. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

let askForProof: (failure: ApiFailure) => Promise<boolean> = async () => false;

/**
 * Names what asks the person to confirm that it is still them, when a response requires it.
 * @param ask gets that response; returns whether they did
 */
export function whenProofIsRequired(ask: (failure: ApiFailure) => Promise<boolean>): void {
  askForProof = ask;
}
