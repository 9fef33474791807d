import type { PricedRequest } from '../../catalog/price.ts';
import { statement } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import type { Task } from '../../tasks/task.ts';

export type AuditedTask = Pick<
  Task,
  'id' | 'phase' | 'account_id' | 'credits' | 'promotional_credits' | 'surface'
> & { price_version: number; priced: PricedRequest };

export const AUDITED_PAGE = statement(
  'audit_task_page',
  `select id, phase, account_id, credits, promotional_credits, surface, price_version,
     request - 'prompt' as priced
   from tasks where id > $1 order by id limit $2`,
);

/** Each finds one kind of contradiction among the tasks of a page; each row is a sentence. */
export const AUDITED_CHECKS = [
  statement(
    'audit_wake_up',
    `select id || ': ' || phase || ' without a due time' as problem
     from tasks where id = any($1) and phase not in ('completed', 'failed') and due_at is null`,
  ),
  // The output may be gone only if it was taken down, or if its retention (null: for ever) has
  // ended.
  statement(
    'audit_output',
    `select t.id || ': completed, its output is ' || coalesce(o.state, 'missing') as problem
     from tasks t left join stored_objects o on o.id = t.output_object_id
     where t.id = any($1) and t.phase = 'completed' and (o.id is null or o.state = 'writing'
       or (o.state in ('deleting', 'deleted') and o.taken_down_at is null
         and coalesce(o.delete_after > clock_now(), true)))`,
  ),
  statement(
    'audit_poster',
    `select t.id || ': its video was removed, its poster was not' as problem
     from tasks t join stored_objects o on o.id = t.output_object_id
     join stored_objects p on p.owner_id = t.id and p.role = 'poster'
     where t.id = any($1) and o.taken_down_at is not null and p.state = 'ready'`,
  ),
  statement(
    'audit_jobs',
    `select task_id || ': ' || count(*) || ' provider jobs' as problem
     from attempts where task_id = any($1) and job_id is not null and state <> 'replaced'
     group by task_id having count(*) > 1`,
  ),
  statement(
    'audit_retry',
    `select t.id || ': tried again after ' || coalesce(t.retried_from, 'no connection')
       || ', its replaced attempts were at ' || coalesce(string_agg(a.provider, ', '), 'none')
       as problem
     from tasks t left join attempts a on a.task_id = t.id and a.state = 'replaced'
     where t.id = any($1)
     group by t.id having string_agg(a.provider, ', ') is distinct from t.retried_from`,
  ),
  statement(
    'audit_test_provider',
    `select t.id || ': a task of a test key, but ' || a.provider || ' was given it' as problem
     from tasks t join attempts a on a.task_id = t.id
     where t.id = any($1) and t.surface = '${TEST_SURFACE}' and a.provider <> '${TEST_PROVIDER}'`,
  ),
  statement(
    'audit_acceptance',
    `select t.id || ': ' || t.phase || ' without an accepted attempt' as problem
     from tasks t left join attempts a on a.task_id = t.id and a.state = 'accepted'
     where t.id = any($1) and a.id is null
       and (t.phase in ('generating', 'archiving', 'completed') or t.held_cause = 'outcome')`,
  ),
  // The released key of a failed task may be bound to another task.
  statement(
    'audit_key',
    `select t.id || ': its Idempotency-Key is missing or not bound to it' as problem
     from tasks t left join idempotency_keys k on k.account_id = t.account_id
       and k.surface = t.surface and k.key = t.idempotency_key
     where t.id = any($1)
       and (k.key is null or (k.task_id is distinct from t.id and t.phase <> 'failed'))`,
  ),
];

export const RESERVED_WITHOUT_TASK = statement(
  'audit_reservation_without_task',
  `select task_id || ': credits are reserved, but the task is missing' as problem
   from unnest($1::text[]) as reserved (task_id)
   where not exists (select from tasks where id = task_id)`,
);
