import { type Queryable, query, queryValue, statement, whether } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';

export type EvidenceSource = 'sender' | 'find' | 'callback' | 'operator';

/**
 * Distinct find results kept per attempt. Failures may differ each time, for example by a request
 * id, and would fill the table.
 */
const MAX_FINDS = 100;

/**
 * Distinct callback findings kept per attempt: this many verified ones, and as many others. Anyone
 * who knows a callback URL can invent jobs, and each named job costs a read.
 */
const MAX_CALLBACKS = 10;

/** Members of a finding that hold a provider's text, which may repeat the prompt. */
export const FINDING_TEXTS = `'{cause,failure,message,reason}'::text[]`;

/** Whether the personal data of a task `t` was erased. */
export const IS_ERASED = `t.request ? 'erased'`;

// A finding that comes after the task's erasure is kept without its texts. It is recorded if its
// source is below the cap or has none, or if it repeats an earlier one.
const RECORD = statement(
  'evidence_record',
  `with given as (
     select case when exists (select from attempts a join tasks t on t.id = a.task_id
         where a.id = $1 and ${IS_ERASED})
       then $3::jsonb - ${FINDING_TEXTS} else $3::jsonb end as finding)
   insert into evidence as e (attempt_id, source, finding, digest)
   select $1, $2, finding, md5(finding::text) from given
   where case $2 when 'find' then ${MAX_FINDS} when 'callback' then ${MAX_CALLBACKS} end >
       (select count(*) from evidence where attempt_id = $1 and source = $2
          and ($2 <> 'callback' or finding->'verified' = $3::jsonb->'verified'))
     or $2 not in ('find', 'callback')
     or exists (select from evidence
       where attempt_id = $1 and source = $2 and digest = md5($3::jsonb::text))
   on conflict (attempt_id, source, digest)
     do update set times = e.times + 1, last_at = clock_now()`,
);

/** A repeated finding only increases its count. */
export async function recordEvidence(
  db: Queryable,
  attemptId: string,
  source: EvidenceSource,
  finding: object,
): Promise<void> {
  await db.query(RECORD, [attemptId, source, jsonText(finding)]);
}

/** A job that a POST to the attempt's callback URL named. */
export interface NamedJob {
  job_id: string;
  /** Whether at least one callback that named the job was verified. */
  verified: boolean;
}

/** The jobs that callbacks named for an attempt, verified ones first. */
export const namedJobs = query<[attemptId: string], NamedJob>(
  'evidence_named_jobs',
  `select finding->>'job' as job_id, bool_or((finding->>'verified')::boolean) as verified
   from evidence where attempt_id = $1 and source = 'callback' and finding->>'job' is not null
   group by 1 order by verified desc, min(first_at)`,
);

/** Whether a POST to another attempt's callback URL named the job. */
export const isNamedForOtherAttempt = whether<
  [attemptId: string, providers: readonly string[], jobId: string]
>(
  'evidence_named_for_other',
  `select from evidence e join attempts a on a.id = e.attempt_id and a.provider = any($2)
   where e.source = 'callback' and e.finding->>'job' = $3 and e.attempt_id <> $1 limit 1`,
);

// The limit keeps the planner from joining whole tables: few rows of evidence name one job.
const ATTEMPT_OF =
  '(select task_id from attempts where id = e.attempt_id and provider = $2 limit 1)';

/**
 * The task of another attempt for which the job was reported: as an orphan job, by a callback or in
 * the response to a submit; undefined if there is none.
 */
export const otherTaskOf = queryValue<
  [attemptId: string, provider: string, jobId: string],
  string | undefined
>(
  'evidence_other_task',
  `select o.task_id from orphan_jobs o
   where o.provider = $2 and o.job_id = $3 and o.attempt_id <> $1
   union all
   select a.task_id from evidence e cross join lateral ${ATTEMPT_OF} a
   where e.source = 'callback' and e.finding->>'job' = $3 and e.attempt_id <> $1
   union all
   select a.task_id from evidence e cross join lateral ${ATTEMPT_OF} a
   where e.source = 'sender' and e.finding->>'job' = $3 and e.attempt_id <> $1
   limit 1`,
  undefined,
);
