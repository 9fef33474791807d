import { type Framewright, TaskFailedError, type VideoTask } from '@framewright/client';
import type { ServerContext } from '@modelcontextprotocol/server';

/** The pause between two notifications of progress, in milliseconds. */
const PROGRESS_PAUSE = 5000;

/**
 * Waits for the end of a task for a limited time, and tells the client that it still waits.
 * @param deadline stops the waiting; the result is then the newest state that is known
 */
export async function waitUntil(
  client: Framewright,
  task: VideoTask,
  { ctx, deadline }: { ctx: ServerContext; deadline: AbortSignal },
): Promise<VideoTask> {
  const stop = tellProgress(ctx);
  try {
    const signal = AbortSignal.any([ctx.mcpReq.signal, deadline]);
    return await client.videos.wait(task, { signal });
  } catch (error) {
    if (error instanceof TaskFailedError) return error.task;
    if (deadline.aborted && !ctx.mcpReq.signal.aborted) return task;
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
