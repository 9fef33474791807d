import { type Database, type Queryable, statement } from '../database/database.ts';
import { auditLedger } from '../ledger/audit.ts';

/** Each statement finds one kind of contradiction; each row is one sentence about one of them. */
const CHECKS = [
  statement(
    'audit_reservation_without_task',
    `select r.task_id || ': credits are reserved, but the task is missing' as problem
     from task_reservations r left join tasks t on t.id = r.task_id where t.id is null`,
  ),
  statement(
    'audit_task_without_reservation',
    `select t.id || ': ' || t.phase || ' without credits reserved for it' as problem
     from tasks t left join task_reservations r on r.task_id = t.id
       and r.account_id = t.account_id and r.credits = t.credits
     where r.task_id is null`,
  ),
  statement(
    'audit_settlement',
    `select t.id || ': ' || t.phase || ', but the settlement of its credits is '
       || coalesce(r.outcome, 'missing') as problem
     from tasks t join task_reservations r on r.task_id = t.id
     where r.outcome is distinct from
       case t.phase when 'completed' then 'capture' when 'failed' then 'refund' end`,
  ),
  statement(
    'audit_wake_up',
    `select id || ': ' || phase || ' without a due time' as problem
     from tasks where phase not in ('completed', 'failed') and due_at is null`,
  ),
  statement(
    'audit_output',
    `select t.id || ': completed, its output is ' || coalesce(o.state, 'missing') as problem
     from tasks t left join objects o on o.id = t.output_object_id
     where t.phase = 'completed' and (o.id is null or o.state = 'writing'
       or (o.state in ('deleting', 'deleted') and o.taken_down_at is null
         and coalesce(o.delete_after > clock_now(), true)))`,
  ),
  statement(
    'audit_jobs',
    `select task_id || ': ' || count(*) || ' provider jobs' as problem
     from attempts where job_id is not null group by task_id having count(*) > 1`,
  ),
  statement(
    'audit_acceptance',
    `select t.id || ': ' || t.phase || ' without an accepted attempt' as problem
     from tasks t left join attempts a on a.task_id = t.id and a.state = 'accepted'
     where (t.phase in ('generating', 'archiving', 'completed') or t.held_cause = 'outcome')
       and a.id is null`,
  ),
  statement(
    'audit_key',
    `select t.id || ': its Idempotency-Key is missing or not bound to it' as problem
     from tasks t left join idempotency_keys k on k.account_id = t.account_id
       and k.surface = t.surface and k.key = t.idempotency_key
     where k.key is null or (k.task_id is distinct from t.id and t.phase <> 'failed')`,
  ),
];

/**
 * Proves, in one snapshot, that balances, transfers, tasks, attempts, objects and keys agree.
 * @returns one sentence for each contradiction
 */
export function audit(db: Database): Promise<{ ok: boolean; problems: string[] }> {
  return db.snapshot(async (tx) => {
    const problems = [...(await auditLedger(tx)), ...(await auditTasks(tx))];
    return { ok: problems.length === 0, problems };
  });
}

async function auditTasks(tx: Queryable): Promise<string[]> {
  const problems: string[] = [];
  for (const check of CHECKS) {
    const rows = await tx.query<{ problem: string }>(check);
    problems.push(...rows.map((row) => row.problem));
  }
  return problems;
}
