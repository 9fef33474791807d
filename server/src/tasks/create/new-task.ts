import { randomInt } from 'node:crypto';
import type { Resolution } from '../../catalog/models.ts';
import type { Price } from '../../catalog/price.ts';
import { type GenerationRequest, inputsOf } from '../../catalog/request.ts';
import {
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
} from '../../database/database.ts';
import { newId } from '../../kernel/ids.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { TASK_COLUMNS, type Task } from '../task.ts';
import type { WakeUp } from '../wake-ups.ts';

/**
 * The website's surface (C20). Its tasks spend promotional credits first, then paid ones. Test keys
 * spend test credits, and all other surfaces spend paid credits only.
 */
export const WEB_SURFACE = 'web';

export const API_SURFACE = 'api';

export interface Binding {
  accountId: string;
  /** Where the request came in (C20). */
  surface: string;
  idempotencyKey: string;
  fingerprint: Buffer;
  /** Undefined on the website. */
  apiKey?: { id: string; hasCap: boolean } | undefined;
  traceparent?: string | undefined;
  /** The HTTP request's id, which customers and operators quote. */
  requestId?: string | undefined;
}

export interface CheckedRequest {
  binding: Binding;
  request: GenerationRequest;
  price: Price;
  /** The name of the connection that is tried first. */
  provider: string;
  /** Why its route chose it, for operators. */
  routeChoice?: string | undefined;
}

export interface NewTask extends CheckedRequest {
  id: string;
  seed: number;
  promotionalCredits: number;
}

const SEEDS = 2 ** 32;

/** A task with a new id and, unless the request names a seed, a random seed. */
export function newTask(checked: CheckedRequest): NewTask {
  const { seed: wanted } = checked.request;
  const seed = wanted === undefined || wanted === -1 ? randomInt(SEEDS) : wanted;
  return { ...checked, id: newId('task'), seed, promotionalCredits: 0 };
}

export function wakeUpFor(request: GenerationRequest): WakeUp {
  return inputsOf(request).length > 0 ? 'ingest' : 'submit';
}

const INSERT = namedStatement(
  'task_insert',
  `insert into tasks (id, account_id, surface, idempotency_key, phase, request, seed, credits,
     promotional_credits, price_version, provider, traceparent, request_id, api_key_id, wait_until,
     announced_at, due_at, route_choice)
   select id, account_id, surface, idempotency_key, 'reserved', request::jsonb, seed, credits,
     promotional_credits, price_version, provider, traceparent, request_id, api_key_id,
     clock_now() + :waitSeconds::float8 * interval '1 second',
     case when :waitSeconds = 0 then clock_now() end, clock_now(), route_choice
   from unnest(:ids::text[], :accountIds::text[], :surfaces::text[], :idempotencyKeys::text[],
       :requests::text[], :seeds::bigint[], :credits::integer[], :promotionalCredits::integer[],
       :priceVersions::integer[], :traceparents::text[], :requestIds::text[],
       :apiKeyIds::text[], :providers::text[], :routeChoices::text[])
     as created (id, account_id, surface, idempotency_key, request, seed, credits,
       promotional_credits, price_version, traceparent, request_id, api_key_id, provider,
       route_choice)
   returning ${TASK_COLUMNS}`,
);

/**
 * Inserts tasks that are due at once.
 * @returns their rows, in the given order
 */
export async function insertTasks(
  tx: Transaction,
  deps: { createWaitSeconds: number },
  tasks: NewTask[],
): Promise<Task[]> {
  const values = INSERT.values({
    ids: tasks.map(({ id }) => id),
    accountIds: tasks.map(({ binding }) => binding.accountId),
    surfaces: tasks.map(({ binding }) => binding.surface),
    idempotencyKeys: tasks.map(({ binding }) => binding.idempotencyKey),
    requests: tasks.map(({ request }) => JSON.stringify(request)),
    seeds: tasks.map(({ seed }) => seed),
    credits: tasks.map(({ price }) => price.credits),
    promotionalCredits: tasks.map(({ promotionalCredits }) => promotionalCredits),
    priceVersions: tasks.map(({ price }) => price.version),
    traceparents: tasks.map(({ binding }) => binding.traceparent ?? null),
    requestIds: tasks.map(({ binding }) => binding.requestId ?? null),
    apiKeyIds: tasks.map(({ binding }) => binding.apiKey?.id ?? null),
    providers: tasks.map(({ provider }) => provider),
    routeChoices: tasks.map(({ routeChoice }) => routeChoice ?? null),
    waitSeconds: deps.createWaitSeconds,
  });
  const rows = await tx.query<Task>(INSERT, values);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return tasks.map(({ id }) => {
    const row = byId.get(id);
    if (!row) throw new Error(`${id} was not inserted`);
    return row;
  });
}

/** CTEs for the readiness check: they take the table locks of a create and change no row. */
export const TOUCH_TASKS = `
     key_touched as (update idempotency_keys set fingerprint = fingerprint where false),
     task_touched as (update tasks set lease = lease where false)`;

const MEGABYTE = 2 ** 20;

/**
 * Twice the bytes per second of a typical H.264 video with sound. Reserving too much only refuses
 * creates earlier.
 */
const BYTES_PER_SECOND: Record<Resolution, number> = {
  '480p': MEGABYTE / 2,
  '720p': MEGABYTE,
  '1080p': 2 * MEGABYTE,
  '4k': 8 * MEGABYTE,
};

/** So small that reservedOutputBytes leaves the outputs of test keys out. */
const TEST_OUTPUT_BYTES = 32_768;

export function expectedOutputBytes(
  { resolution, duration }: Pick<GenerationRequest, 'resolution' | 'duration'>,
  surface?: string,
): number {
  if (surface === TEST_SURFACE) return TEST_OUTPUT_BYTES;
  return BYTES_PER_SECOND[resolution] * duration;
}

// Only live tasks have a `due_at`; a partial index contains them.
const LIVE = statement(
  'tasks_expected_output',
  `select request->>'resolution' as resolution, sum((request->>'duration')::int)::int8 as duration
   from tasks where due_at is not null and surface <> '${TEST_SURFACE}' group by 1`,
);

/** Disk space to keep free for the outputs of all live tasks, in bytes. */
export async function reservedOutputBytes(db: Queryable): Promise<number> {
  const rows = await db.query<{ resolution: Resolution; duration: number }>(LIVE);
  return rows.reduce((sum, row) => sum + expectedOutputBytes(row), 0);
}
