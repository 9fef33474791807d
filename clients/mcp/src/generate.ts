import type { GenerateRequest } from '@framewright/client';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { addressesOnly, type RequestInput } from './addresses.ts';
import { RefusedInput, taskResult } from './results.ts';
import type { Session } from './session.ts';
import { waitUntil } from './waiting.ts';

export type GenerateInput = RequestInput & { request_id: string; max_credits?: number };

/**
 * Creates a video and waits for it within the session's time. The request_id becomes the
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

/** Aborts when the time is over, or the server stops. */
function deadlineOf({ waitSeconds, stopping }: Session): AbortSignal {
  const timeout = AbortSignal.timeout(waitSeconds * 1000);
  return stopping ? AbortSignal.any([timeout, stopping]) : timeout;
}

interface Order {
  session: Session;
  request: GenerateRequest;
  signal: AbortSignal;
}

/**
 * Refuses a request that costs more. A quote is what a create of the same request reserves: prices
 * change only with another version of the service.
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
