import { type Database, type Queryable, type Statement, statement } from '../database/database.ts';
import {
  type AuditedReservation,
  auditedReservations,
  auditLedger,
  LEDGER_SIZES,
} from '../ledger/audit.ts';
import { type Report, runCheck } from '../ledger/run-check.ts';
import { partsOf } from '../ledger/transfer.ts';
import { auditOrders } from './billing/audit-orders.ts';

/** How much is read at a time: few rows, so that each snapshot ends within a second. */
const SIZES = { ...LEDGER_SIZES, tasks: 2000, orders: 500 };
/** More problems than these are counted, but not kept. */
const MAX_PROBLEMS = 1000;

interface AuditedTask {
  id: string;
  phase: string;
  account_id: string;
  credits: number;
  promotional_credits: number;
}

const PAGE = statement(
  'audit_task_page',
  `select id, phase, account_id, credits, promotional_credits from tasks
   where id > $1 order by id limit $2`,
);

/** Each finds one kind of contradiction among the tasks of a page; each row is a sentence. */
const CHECKS = [
  statement(
    'audit_wake_up',
    `select id || ': ' || phase || ' without a due time' as problem
     from tasks where id = any($1) and phase not in ('completed', 'failed') and due_at is null`,
  ),
  statement(
    'audit_output',
    `select t.id || ': completed, its output is ' || coalesce(o.state, 'missing') as problem
     from tasks t left join objects o on o.id = t.output_object_id
     where t.id = any($1) and t.phase = 'completed' and (o.id is null or o.state = 'writing'
       or (o.state in ('deleting', 'deleted') and o.taken_down_at is null
         and coalesce(o.delete_after > clock_now(), true)))`,
  ),
  statement(
    'audit_poster',
    `select t.id || ': its video was removed, its poster was not' as problem
     from tasks t join objects o on o.id = t.output_object_id
     join objects p on p.task_id = t.id and p.role = 'poster'
     where t.id = any($1) and o.taken_down_at is not null and p.state = 'ready'`,
  ),
  statement(
    'audit_jobs',
    `select task_id || ': ' || count(*) || ' provider jobs' as problem
     from attempts where task_id = any($1) and job_id is not null
     group by task_id having count(*) > 1`,
  ),
  statement(
    'audit_acceptance',
    `select t.id || ': ' || t.phase || ' without an accepted attempt' as problem
     from tasks t left join attempts a on a.task_id = t.id and a.state = 'accepted'
     where t.id = any($1) and a.id is null
       and (t.phase in ('generating', 'archiving', 'completed') or t.held_cause = 'outcome')`,
  ),
  statement(
    'audit_key',
    `select t.id || ': its Idempotency-Key is missing or not bound to it' as problem
     from tasks t left join idempotency_keys k on k.account_id = t.account_id
       and k.surface = t.surface and k.key = t.idempotency_key
     where t.id = any($1)
       and (k.key is null or (k.task_id is distinct from t.id and t.phase <> 'failed'))`,
  ),
];

const ARCHIVED_PAGE = statement(
  'audit_archived_page',
  `select id, phase, account_id, credits,
     coalesce((record#>>'{task,promotional_credits}')::int, 0) as promotional_credits
   from archived_tasks where id > $1 order by id limit $2`,
);

/** The same for archived tasks: what does not change any more, and what the record must have. */
const ARCHIVED_CHECKS = [
  statement(
    'audit_archived_twice',
    `select id || ': archived, and still among the tasks' as problem
     from tasks where id = any($1)`,
  ),
  statement(
    'audit_archived_record',
    `select id || ': archived, but its record is of another task' as problem
     from archived_tasks where id = any($1)
       and row(id, account_id, phase, credits::text, output_object_id) is distinct from
         row(record#>>'{task,id}', record#>>'{task,account_id}', record#>>'{task,phase}',
           record#>>'{task,credits}', record#>>'{task,output_object_id}')`,
  ),
  statement(
    'audit_archived_video',
    `select id || ': completed and archived, but its record has no accepted attempt or no video'
       as problem
     from archived_tasks where id = any($1) and phase = 'completed'
       and (not record @> '{"attempts": [{"state": "accepted"}]}'
         or not exists (select from jsonb_array_elements(record->'objects') as object
           where object->>'id' = output_object_id))`,
  ),
  statement(
    'audit_archived_key',
    `select t.id || ': its Idempotency-Key is missing or not bound to it' as problem
     from archived_tasks t left join idempotency_keys k on k.account_id = t.account_id
       and k.surface = t.record#>>'{task,surface}'
       and k.key = t.record#>>'{task,idempotency_key}'
     where t.id = any($1)
       and (k.key is null or (k.task_id is distinct from t.id and t.phase <> 'failed'))`,
  ),
];

const MISSING = statement(
  'audit_reservation_without_task',
  `select task_id || ': credits are reserved, but the task is missing' as problem
   from unnest($1::text[]) as reserved (task_id)
   where not exists (select from tasks where tasks.id = task_id)
     and not exists (select from archived_tasks where archived_tasks.id = task_id)`,
);

export interface AuditResult {
  ok: boolean;
  /** One sentence for each contradiction, the first thousand of them. */
  problems: string[];
  /** How many contradictions there are, if `problems` does not have all of them. */
  found?: number;
}

/**
 * Proves that balances, transfers, tasks, attempts, objects and keys agree. Reads the accounts, the
 * transfers and the tasks in pages, each in a short snapshot of its own (decisions/0014).
 * @param report receives each problem when it is found
 */
export async function audit(
  db: Pick<Database, 'snapshot'>,
  report: Report = () => {},
  sizes = SIZES,
): Promise<AuditResult> {
  const problems: string[] = [];
  let found = 0;
  const add = (problem: string) => {
    found += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
    report(problem);
  };
  await auditLedger(db, {
    report: add,
    sizes,
    checkReserved: (tx, taskIds) => runCheck(tx, MISSING, { values: [taskIds], report: add }),
  });
  await auditOrders(db, sizes, add);
  // A task that is archived meanwhile is on a page of the tasks or, later, of the archived ones.
  await auditTasks(db, { page: PAGE, checks: CHECKS, pageSize: sizes.tasks }, add);
  const archived = { page: ARCHIVED_PAGE, checks: ARCHIVED_CHECKS, pageSize: sizes.tasks };
  await auditTasks(db, archived, add);
  const ok = found === 0;
  return found > problems.length ? { ok, problems, found } : { ok, problems };
}

async function auditTasks(
  db: Pick<Database, 'snapshot'>,
  { page, checks, pageSize }: { page: Statement; checks: Statement[]; pageSize: number },
  report: Report,
): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await db.snapshot(async (tx) => {
      const tasks = await tx.query<AuditedTask>(page, [after, pageSize]);
      const taskIds = tasks.map(({ id }) => id);
      await checkReservations(tx, tasks, report);
      for (const check of checks) await runCheck(tx, check, { values: [taskIds], report });
      return taskIds;
    });
    if (ids.length < pageSize) return;
    after = ids.at(-1) ?? after;
  }
}

const SETTLEMENTS: Record<string, string> = { completed: 'capture', failed: 'refund' };

/** Each task has reservations of its credits, by kind, settled if and as the task has ended. */
async function checkReservations(
  tx: Queryable,
  tasks: AuditedTask[],
  report: Report,
): Promise<void> {
  const ids = tasks.map(({ id }) => id);
  const reservations = new Map<string, AuditedReservation[]>();
  for (const row of await auditedReservations(tx, ids)) {
    reservations.set(row.task_id, [...(reservations.get(row.task_id) ?? []), row]);
  }
  for (const task of tasks) checkParts(task, reservations.get(task.id) ?? [], report);
}

function checkParts(task: AuditedTask, reserved: AuditedReservation[], report: Report): void {
  const { id, phase } = task;
  const promotionalCredits = task.promotional_credits;
  const wanted = partsOf({ ...task, accountId: task.account_id, taskId: id, promotionalCredits });
  const isReserved = wanted.every(({ kind, credits }) =>
    reserved.some(
      (row) => row.account_id === task.account_id && row.kind === kind && row.credits === credits,
    ),
  );
  if (!isReserved || reserved.length !== wanted.length) {
    report(`${id}: ${phase} without credits reserved for it`);
  }
  for (const { outcome } of reserved) {
    if (outcome === (SETTLEMENTS[phase] ?? null)) continue;
    report(`${id}: ${phase}, but the settlement of its credits is ${outcome ?? 'missing'}`);
  }
}
