import { TEST_SURFACE } from '../ledger/transfer.ts';
import type { Routing } from '../routing/routing.ts';
import type { NextConnection } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';

/**
 * The connection that gets the task if the current one does not accept it, or its job failed there.
 * A task of a test key goes to no other connection.
 */
export function nextConnection(
  routing: Pick<Routing, 'next'>,
  task: Task,
): NextConnection | undefined {
  if (task.surface === TEST_SURFACE) return undefined;
  const { request, route_tried: tried, retried_from: failedAt, provider } = task;
  return routing.next(request, [
    ...(tried ?? []),
    ...(failedAt === null ? [] : [failedAt]),
    provider,
  ]);
}
