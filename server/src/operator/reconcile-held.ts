import { type Database, namedStatement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Action, recordAction } from './actions.ts';
import { type OperatorDecision, reconcile } from './reconcile.ts';

/** Which held tasks are decided together; what is null does not matter. */
export interface HeldFilter {
  provider: string | null;
  accountId: string | null;
  /** Held for at least so long. */
  hours: number;
}

interface HeldTask {
  id: string;
  account_id: string;
  held_cause: string;
  provider: string;
  credits: number;
  held_since: Date;
}

/** More are not decided at once, so that an operator can read the list. */
const MOST = 1000;

const FIND = namedStatement(
  'operator_held_to_decide',
  ['provider', 'accountId', 'hours'],
  `with held as (
     select id, account_id, held_cause, provider, credits, coalesce(
       (select min(at) from task_history h where h.task_id = tasks.id and h.phase = 'held'),
       updated_at) as held_since
     from tasks where phase = 'held' and provider = coalesce(:provider::text, provider)
       and account_id = coalesce(:accountId::text, account_id))
   select id, account_id, held_cause, provider, credits, held_since from held
   where held_since <= (select clock_now()) - :hours::float8 * interval '1 hour'
   order by held_since, id limit ${MOST}`,
);

/** The held tasks of a filter, those held first. */
export function findHeld(db: Database, filter: HeldFilter): Promise<HeldTask[]> {
  return db.query<HeldTask>(FIND, FIND.values({ ...filter }));
}

/**
 * Applies one decision to all held tasks of a filter, each in a transaction of its own with its own
 * record. A task that can't be decided so is left, and named with the reason.
 * @param expected how many tasks the operator has seen in the list
 * @throws UsageError when the filter finds another number of tasks; then nothing is decided
 */
export async function reconcileHeld(
  db: Database,
  action: Action,
  decided: { filter: HeldFilter; kind: 'not_accepted' | 'failed'; expected: number },
): Promise<{ ok: boolean; decided: number; left: string[] }> {
  const tasks = await findHeld(db, decided.filter);
  if (tasks.length !== decided.expected) {
    throw new UsageError(
      `the filter finds ${tasks.length} held tasks now, not ${decided.expected}: nothing was ` +
        'decided. Look at the list again without --confirm',
    );
  }
  const decision: OperatorDecision = { kind: decided.kind };
  const left: string[] = [];
  for (const { id } of tasks) {
    const record = (tx: Parameters<typeof recordAction>[0]) =>
      recordAction(tx, action, { target: id, details: decision });
    await reconcile(db, id, decision, action.reason ?? '', record).catch((error: unknown) => {
      if (!(error instanceof UsageError)) throw error;
      left.push(error.message);
    });
  }
  return { ok: left.length === 0, decided: tasks.length - left.length, left };
}
