import { statement } from '../../database/database.ts';

/** A page of archived tasks, as the audit reads those of the other tasks. */
export const ARCHIVED_PAGE = statement(
  'audit_archived_page',
  `select id, phase, account_id, credits,
     coalesce((record#>>'{task,promotional_credits}')::int, 0) as promotional_credits,
     record#>>'{task,surface}' as surface
   from archived_tasks where id > $1 order by id limit $2`,
);

/** Contradictions among the archived tasks of a page, and in their records. */
export const ARCHIVED_CHECKS = [
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
