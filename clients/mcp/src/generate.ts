import {
  ApiError,
  type Framewright,
  type GenerateRequest,
  TaskFailedError,
  type VideoRequest,
  type VideoTask,
} from '@framewright/client';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { RefusedInput, taskResult } from './results.ts';

/** Below the 60 seconds after which clients give up on a call. */
const MAX_WAIT_SECONDS = 45;
/** The interval between progress notifications, in milliseconds. */
const PROGRESS_PAUSE = 5000;

/** A connection's context for its tools. */
export interface Session {
  client: Framewright;
  /** How long a call may wait for a video; 45 by default. */
  waitSeconds?: number | undefined;
  /** Absent over HTTP, where the user's files are on another machine. */
  files?: { /** Files below it may be uploaded. */ folder: string | undefined } | undefined;
  /** How often a waiting call retries a read; the client's default if omitted. */
  maxRetries?: number | undefined;
  /** Aborts the waits when the server stops. */
  stopping?: AbortSignal | undefined;
}

export type GenerateInput = VideoRequest & { request_id: string; max_credits?: number };

/**
 * Creates a video and waits for it within the session's limit. The request_id becomes the
 * Idempotency-Key: a model that calls again, in any session, gets the same task.
 */
export async function generate(
  session: Session,
  { request_id: requestId, max_credits: most, ...input }: GenerateInput,
  ctx: ServerContext,
): Promise<CallToolResult> {
  const deadline = deadlineOf(session);
  const signal = AbortSignal.any([ctx.mcpReq.signal, deadline]);
  const idempotencyKey = `mcp:${requestId}`;
  const request = addressesOnly(input);
  if (most !== undefined) await refuseAbove(most, { session, request, signal });
  const task = await session.client.videos.create(request, { idempotencyKey, signal });
  return taskResult(...(await waitUntil(session, task, { ctx, deadline, idempotencyKey })));
}

/** Aborts when the time is up or the server stops. */
function deadlineOf({ waitSeconds = MAX_WAIT_SECONDS, stopping }: Session): AbortSignal {
  const timeout = AbortSignal.timeout(waitSeconds * 1000);
  return stopping ? AbortSignal.any([timeout, stopping]) : timeout;
}

interface Order {
  session: Session;
  request: GenerateRequest;
  signal: AbortSignal;
}

/**
 * Refuses a request that costs more. A quote equals what a create of the same request reserves:
 * prices change only with another version of the service.
 * @throws RefusedInput
 */
async function refuseAbove(most: number, { session, request, signal }: Order): Promise<void> {
  const { credits } = await session.client.videos.quote(request, { signal });
  if (credits <= most) return;
  throw new RefusedInput(
    `Not sent: this video costs ${credits} credits, and max_credits is ${most}. Charged: nothing ` +
      'by this call. If the user agrees to the price, call again with the same request_id and a ' +
      'higher max_credits.',
    { code: 'max_credits', credits, max_credits: most },
  );
}

const UPLOAD_FIRST = 'Upload a file of the user first, if there is a tool for it.';

/**
 * Turns media fields into URL objects: the client would read other text as a path, and upload a
 * file from this server's machine.
 * @throws RefusedInput
 */
export function addressesOnly(input: VideoRequest): GenerateRequest {
  const entries = Object.entries(input).map(([field, value]) => {
    if (!value || !/_urls?$/.test(field)) return [field, value];
    const address = (text: string) => {
      if (URL.canParse(text)) return new URL(text);
      throw new RefusedInput(`Not sent: ${field} takes https addresses. ${UPLOAD_FIRST}`);
    };
    return [field, Array.isArray(value) ? value.map(address) : address(value)];
  });
  return Object.fromEntries(entries);
}

interface Wait {
  ctx: ServerContext;
  /** Stops the wait; the result is then the latest known state. */
  deadline: AbortSignal;
  idempotencyKey: string;
}

/**
 * Waits a limited time for a task to end, sending progress to the client.
 * @returns the task, and the rate limit's Retry-After if there was one
 */
async function waitUntil(
  { client, maxRetries }: Session,
  task: VideoTask,
  { ctx, deadline, idempotencyKey }: Wait,
): Promise<[VideoTask, waitSeconds?: number | undefined]> {
  const stop = tellProgress(ctx);
  let newest = task;
  const onProgress = (read: VideoTask) => {
    newest = read;
  };
  try {
    const signal = AbortSignal.any([ctx.mcpReq.signal, deadline]);
    return [await client.videos.wait(task, { idempotencyKey, signal, onProgress, maxRetries })];
  } catch (error) {
    if (error instanceof TaskFailedError) return [error.task];
    if (deadline.aborted && !ctx.mcpReq.signal.aborted) return [newest];
    if (error instanceof ApiError && error.status === 429) return [newest, error.retryAfterSeconds];
    throw error;
  } finally {
    stop();
  }
}

/**
 * Sends progress at once and every few seconds, if the client asked for it. Returns the stop
 * function.
 */
function tellProgress({ mcpReq }: ServerContext): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  const start = performance.now();
  let progress = 0;
  const tell = () => {
    const seconds = Math.round((performance.now() - start) / 1000);
    const message = `The video is being made, ${seconds} s so far.`;
    progress += 1;
    const params = { progressToken, progress, message };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client left
  };
  tell();
  const timer = setInterval(tell, PROGRESS_PAUSE);
  return () => clearInterval(timer);
}
