import { FramewrightError, type GenerateRequest, type VideoTask } from '@framewright/client';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { addressesOnly, type RequestInput } from './addresses.ts';
import { taskResult } from './results.ts';
import type { Session } from './session.ts';
import { createTaskResult, offersTasks } from './tasks-extension.ts';
import { waitUntil } from './waiting.ts';

export type GenerateInput = RequestInput & { request_id: string };

/**
 * Creates a video and waits for it within the session's time. The request_id becomes the
 * Idempotency-Key: a model that calls again, in any session, gets the same task.
 */
export async function generate(
  session: Session,
  { request_id: requestId, ...input }: GenerateInput,
  ctx: ServerContext,
): Promise<CallToolResult> {
  const deadline = deadlineOf(session);
  const signal = AbortSignal.any([ctx.mcpReq.signal, deadline]);
  const request = addressesOnly(input);
  const task = await createWithinBudget(session, { requestId, request, signal });
  session.budget?.created(requestId, task);
  if (offersTasks(ctx)) return createTaskResult(task);
  const newest = await waitUntil(session.client, task, { ctx, deadline });
  session.budget?.seen(newest);
  return taskResult(newest);
}

/** Aborts when the time is over, or the server stops. */
function deadlineOf({ waitSeconds, stopping }: Session): AbortSignal {
  const timeout = AbortSignal.timeout(waitSeconds * 1000);
  return stopping ? AbortSignal.any([timeout, stopping]) : timeout;
}

interface Creation {
  requestId: string;
  request: GenerateRequest;
  signal: AbortSignal;
}

async function createWithinBudget(
  { client, budget }: Session,
  { requestId, request, signal }: Creation,
): Promise<VideoTask> {
  const took = budget?.take(requestId, (await client.videos.quote(request, { signal })).credits);
  try {
    return await client.videos.create(request, { idempotencyKey: `mcp:${requestId}`, signal });
  } catch (error) {
    if (took && isKnownFree(error)) budget?.giveBack(requestId);
    throw error;
  }
}

function isKnownFree(error: unknown): boolean {
  const charged = error instanceof FramewrightError ? error.charged : undefined;
  return charged === 'no' || charged === 'refunded';
}
