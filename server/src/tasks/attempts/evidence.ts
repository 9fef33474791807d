import { type Queryable, statement } from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';

/** Where a finding about an attempt comes from. */
export type EvidenceSource = 'sender' | 'find' | 'callback' | 'operator';

/** Kept per attempt. A find's failure may differ each time, for example by a request id. */
const MAX_FINDS = 100;

const NOTE = statement(
  'evidence_record',
  `insert into evidence as e (attempt_id, source, finding, digest)
   select $1, $2, $3::jsonb, md5($3::jsonb::text)
   where $2 <> 'find' or ${MAX_FINDS} >
       (select count(*) from evidence where attempt_id = $1 and source = 'find')
     or exists (select from evidence
       where attempt_id = $1 and source = $2 and digest = md5($3::jsonb::text))
   on conflict (attempt_id, source, digest)
     do update set times = e.times + 1, last_at = clock_now()`,
);

/** Records a finding about an attempt, for operators; a repeated one only increases its count. */
export async function recordEvidence(
  db: Queryable,
  attemptId: string,
  source: EvidenceSource,
  finding: object,
): Promise<void> {
  await db.query(NOTE, [attemptId, source, jsonText(finding)]);
}

/** A job that was named by a callback to the attempt's own address. */
export interface NamedJob {
  job_id: string;
  /** Whether a callback with the provider's valid signature named it. */
  verified: boolean;
}

const NAMED = statement(
  'evidence_named_jobs',
  `select finding->>'job' as job_id, bool_or((finding->>'verified')::boolean) as verified
   from evidence where attempt_id = $1 and source = 'callback' and finding->>'job' is not null
   group by 1 order by verified desc, min(first_at)`,
);

/** The jobs that callbacks named for an attempt, those with a valid signature first. */
export function namedJobs(db: Queryable, attemptId: string): Promise<NamedJob[]> {
  return db.query<NamedJob>(NAMED, [attemptId]);
}

const NAMED_ELSEWHERE = statement(
  'evidence_named_elsewhere',
  `select from evidence e join attempts a on a.id = e.attempt_id and a.provider = $2
   where e.source = 'callback' and e.finding->>'job' = $3 and e.attempt_id <> $1 limit 1`,
);

/** Whether a callback to another attempt's address named the job. */
export async function isNamedElsewhere(
  db: Queryable,
  attempt: { id: string; provider: string },
  jobId: string,
): Promise<boolean> {
  return (await db.query(NAMED_ELSEWHERE, [attempt.id, attempt.provider, jobId])).length > 0;
}
