import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { addressesOnly, type RequestInput } from './addresses.ts';
import { taskResult } from './results.ts';
import type { Session } from './session.ts';
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
  const idempotencyKey = `mcp:${requestId}`;
  const { client } = session;
  const task = await client.videos.create(addressesOnly(input), { idempotencyKey, signal });
  return taskResult(await waitUntil(client, task, { ctx, deadline }));
}

/** Aborts when the time is over, or the server stops. */
function deadlineOf({ waitSeconds, stopping }: Session): AbortSignal {
  const timeout = AbortSignal.timeout(waitSeconds * 1000);
  return stopping ? AbortSignal.any([timeout, stopping]) : timeout;
}
