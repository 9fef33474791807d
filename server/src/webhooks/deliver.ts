import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import type { GuardedPost } from '../outbound/guarded-fetch.ts';
import { OutboundError } from '../outbound/refusal.ts';
import { report } from '../telemetry/reports.ts';
import {
  claimEndpoints,
  type DueDelivery,
  dueDeliveries,
  type LeasedEndpoint,
  postponeDeliveries,
  releaseEndpoint,
} from './claim.ts';
import { mailOwners, type NoticeDeps } from './notices.ts';
import { type DeliveryAttempt, isDelivered, recordTurn } from './outcome.ts';
import { signatureHeaders } from './signature.ts';
import { createThrottle, openDeliverySlots } from './throttle.ts';

/** How long a process keeps an endpoint before others get their turn. */
const TURN_SECONDS = 10;
/** The time limit of a delivery, from the look-up of the host to the response. */
const DELIVERY_SECONDS = 15;
const CLAIM_SECONDS = 5;
const MAIL_SECONDS = 5;

export interface DeliverDeps extends NoticeDeps {
  db: Database;
  log: Log;
  outbound: GuardedPost;
  /** A task as the public API shows it; undefined if it is gone. */
  taskOf(task: { accountId: string; id: string }): Promise<object | undefined>;
}

type ThrottledDeps = DeliverDeps & { throttle: ReturnType<typeof createThrottle> };

/**
 * Each process leases endpoints with due deliveries, so that a slow endpoint delays no other, and
 * the events of a process that dies are sent again.
 * @returns `claim` looks for due deliveries now; `settle` waits for the tries under way, at most
 *   for the given time
 */
export function startWebhooks(deps: DeliverDeps, signal: AbortSignal) {
  const slots = openDeliverySlots();
  const throttle = createThrottle();
  const turns = new Set<Promise<void>>();
  startInterval(MAIL_SECONDS, { name: 'mails of webhooks', log: deps.log, signal }, () =>
    mailOwners(deps),
  );
  const claim = startInterval(
    CLAIM_SECONDS,
    { name: 'webhooks', log: deps.log, signal },
    async () => {
      if (throttle.isBehind()) return;
      for (const endpoint of await claimEndpoints(deps.db, slots.free())) {
        const freeSlot = slots.take(endpoint);
        const turn = runTurn({ ...deps, throttle }, endpoint, signal).finally(() => {
          freeSlot();
          turns.delete(turn);
        });
        turns.add(turn);
      }
    },
  );
  const settle = (seconds: number) =>
    Promise.race([Promise.all(turns), delay(seconds * 1000, undefined, { ref: false })]);
  return { claim, settle };
}

/** After an internal error the lease is left to expire, so that the turn is not repeated at once. */
async function runTurn(deps: ThrottledDeps, endpoint: LeasedEndpoint, signal: AbortSignal) {
  await deliverDue(deps, endpoint, signal).catch((error: unknown) => {
    if (signal.aborted) return;
    deps.log.warn({ err: error, webhook: endpoint.id }, 'deliveries of a webhook failed');
  });
}

export async function deliverDue(
  deps: ThrottledDeps,
  leased: LeasedEndpoint,
  signal: AbortSignal,
): Promise<void> {
  const endsAt = performance.now() + TURN_SECONDS * 1000;
  let endpoint: LeasedEndpoint | undefined = leased;
  while (endpoint && !signal.aborted && performance.now() < endsAt) {
    const limit = endpoint.slot === 'failing' ? 1 : deps.throttle.atOnce();
    const due = await dueDeliveries(deps.db, endpoint.id, limit);
    if (due.length === 0) break;
    await deps.throttle.begin(due.length, signal);
    if (signal.aborted) break;
    endpoint = await sendAndRecord(deps, endpoint, due);
    if (deps.throttle.isBehind()) break;
  }
  if (endpoint) await releaseEndpoint(deps.db, endpoint.id);
}

/** @returns the endpoint, read again by {@link recordTurn}: its owner may have changed it */
async function sendAndRecord(deps: DeliverDeps, endpoint: LeasedEndpoint, due: DueDelivery[]) {
  const attempts = await attemptAll(deps, endpoint, due);
  return deps.db.transaction((tx) => recordTurn(tx, endpoint, attempts));
}

/** @throws the first failure if no delivery could be tried; no tries are counted then */
async function attemptAll(
  deps: DeliverDeps,
  endpoint: LeasedEndpoint,
  due: DueDelivery[],
): Promise<DeliveryAttempt[]> {
  const results = await Promise.allSettled(
    due.map((delivery) => attempt(deps, endpoint, delivery)),
  );
  const attempts = results.flatMap((result) =>
    result.status === 'fulfilled' ? [result.value] : [],
  );
  const [failure] = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : [],
  );
  if (failure === undefined) return attempts;
  deps.log.warn({ err: failure, webhook: endpoint.id }, 'events of a webhook could not be sent');
  const ids = due
    .map(({ id }) => id)
    .filter((id) => !attempts.some((one) => one.delivery.id === id));
  await postponeDeliveries(deps.db, ids);
  if (attempts.length === 0) throw failure;
  return attempts;
}

/**
 * @throws only if the receiver is not at fault, and then no try counts: the task can't be read, or
 *   the process shuts down
 */
async function attempt(
  deps: DeliverDeps,
  endpoint: LeasedEndpoint,
  delivery: DueDelivery,
): Promise<DeliveryAttempt> {
  const body = await bodyOf(deps, endpoint, delivery);
  const startedAt = performance.now();
  const result = await send(deps, endpoint, delivery, body).catch(resultOfFailure);
  const durationMs = Math.round(performance.now() - startedAt);
  const tried = { delivery, startedAt, durationMs, ...result };
  const outcome = isDelivered(tried)
    ? 'delivered'
    : result.status === null
      ? 'unreachable'
      : 'refused';
  report('webhook', { outcome, seconds: durationMs / 1000 });
  return tried;
}

type Result = Pick<DeliveryAttempt, 'status' | 'cause' | 'response'>;

async function send(
  { outbound }: DeliverDeps,
  { id: endpointId, url, secrets, account_id: accountId }: LeasedEndpoint,
  { event_id: eventId, now_seconds: now }: DueDelivery,
  body: string,
): Promise<Result> {
  const message = { eventId, timestamp: Math.floor(now), body };
  const response = await outbound.post(url, {
    // Host look-ups are limited per task of a customer: an endpoint counts like a task.
    customer: { accountId, taskId: endpointId },
    headers: { 'content-type': 'application/json', ...signatureHeaders(message, secrets) },
    body,
    deadlineSeconds: DELIVERY_SECONDS,
  });
  return { status: response.status, cause: null, response: response.start };
}

function resultOfFailure(error: unknown): Result {
  if (!(error instanceof OutboundError)) throw error;
  return { status: null, cause: error.message, response: null };
}

async function bodyOf(
  { taskOf }: DeliverDeps,
  { mode, account_id: accountId }: LeasedEndpoint,
  { type, created_at: createdAt, task_id: taskId, data }: DueDelivery,
): Promise<string> {
  const shown =
    taskId === null ? data : ((await taskOf({ accountId, id: taskId })) ?? { id: taskId });
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), mode, data: shown });
}
