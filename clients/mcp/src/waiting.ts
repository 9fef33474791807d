import { ApiError, TaskFailedError, type VideoTask } from '@framewright/client';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { Session } from './session.ts';

/** The pause between two notifications of progress, in milliseconds. */
const PROGRESS_PAUSE = 5000;

interface Wait {
  ctx: ServerContext;
  /** Stops the waiting; the result is then the newest state that is known. */
  deadline: AbortSignal;
  idempotencyKey: string;
}

/**
 * Waits for the end of a task for a limited time, and tells the client that it still waits.
 * @returns the task, and after how many seconds it may be read again if the rate limit said so
 */
export async function waitUntil(
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

/** Notifies the client at once and every few seconds, if it asked for that; returns the stop. */
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
