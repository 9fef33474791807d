import {
  ApiError,
  type Framewright,
  type GenerateRequest,
  type Quote,
  TaskFailedError,
  type VideoRequest,
  type VideoTask,
} from '@framewright/client';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { RefusedInput, taskResult } from './results.ts';

/** Below the 60 seconds after which clients give up on a call. */
const MAX_WAIT_SECONDS = 45;
const PROGRESS_PAUSE_MS = 5000;

/** A connection's context for its tools. */
export interface Session {
  client: Framewright;
  /** Absent over HTTP, where the user's files are on another machine. */
  files?: { /** Files below it may be uploaded. */ folder: string | undefined } | undefined;
  /** How often a waiting call retries a read. */
  maxRetries?: number | undefined;
  /** When it aborts, calls stop waiting for their videos. */
  stopping?: AbortSignal | undefined;
  /** The name that people read; by default Framewright. */
  title?: string | undefined;
}

export type GenerateInput = VideoRequest & { request_id: string; max_credits?: number };

/**
 * Creates a video and waits for it, at most MAX_WAIT_SECONDS. The request_id becomes the
 * Idempotency-Key: a model that calls again, in any session, gets the same task.
 */
export async function generate(
  session: Session,
  { request_id: requestId, max_credits: maxCredits, ...input }: GenerateInput,
  ctx: ServerContext,
): Promise<CallToolResult> {
  const timeout = AbortSignal.timeout(MAX_WAIT_SECONDS * 1000);
  const deadline = session.stopping ? AbortSignal.any([timeout, session.stopping]) : timeout;
  const signal = AbortSignal.any([ctx.mcpReq.signal, deadline]);
  const idempotencyKey = `mcp:${requestId}`;
  const request = addressesOnly(input);
  const { videos } = session.client;
  if (maxCredits !== undefined) refuseAbove(maxCredits, await videos.quote(request, { signal }));
  const task = await videos.create(request, { idempotencyKey, signal });
  const stopProgress = sendProgress(ctx);
  let newest = task;
  const onProgress = (read: VideoTask) => {
    newest = read;
  };
  const { maxRetries } = session;
  const options = { idempotencyKey, signal, onProgress, maxRetries };
  try {
    return taskResult(await videos.wait(task, options));
  } catch (error) {
    if (error instanceof TaskFailedError) return taskResult(error.task);
    if (deadline.aborted && !ctx.mcpReq.signal.aborted) return taskResult(newest);
    // The API key's rate limit is reached.
    if (error instanceof ApiError && error.status === 429)
      return taskResult(newest, error.retryAfterSeconds);
    throw error;
  } finally {
    stopProgress();
  }
}

/**
 * Refuses a video that costs more than `maxCredits`. A create reserves what the quote says, unless
 * a price change takes effect in between.
 * @throws RefusedInput
 */
function refuseAbove(maxCredits: number, { credits }: Quote): void {
  if (credits <= maxCredits) return;
  throw new RefusedInput(
    `Not sent: this video costs ${credits} credits, and max_credits is ${maxCredits}. Charged: ` +
      'nothing by this call. If the user agrees to the price, call again with the same ' +
      'request_id and a higher max_credits.',
    { code: 'max_credits', credits, max_credits: maxCredits },
  );
}

const UPLOAD_FIRST = 'Upload a file of the user first, if there is a tool for it.';

/**
 * Turns the media fields' texts into URL objects. The client would take a text that is no URL for
 * a path, and upload that file from this server's machine.
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

/** Sends progress, if the client asked for it, until the returned function is called. */
function sendProgress({ mcpReq }: ServerContext): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  const start = performance.now();
  let progress = 0;
  const send = () => {
    const seconds = Math.round((performance.now() - start) / 1000);
    const message = `The video is being made, ${seconds} s so far.`;
    progress += 1;
    const params = { progressToken, progress, message };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client left
  };
  send();
  const timer = setInterval(send, PROGRESS_PAUSE_MS);
  return () => clearInterval(timer);
}
