import { type Queryable, statement } from '../kernel/database.ts';

/** Who learned something of an attempt. */
export type EvidenceSource = 'sender' | 'look_up' | 'callback' | 'operator';

/** Far more than any provider has different things to say of one job. */
const MOST_FINDINGS = 100;

const NOTE = statement(
  'evidence_note',
  `insert into evidence as e (attempt_id, source, finding, digest)
   select $1, $2, $3::jsonb, md5($3::jsonb::text)
   where (select count(*) from evidence where attempt_id = $1) < ${MOST_FINDINGS}
   on conflict (attempt_id, source, digest)
     do update set times = e.times + 1, last_at = clock_now()`,
);

/** Keeps what was learned of an attempt, for operators; the same finding again counts up. */
export async function noteEvidence(
  db: Queryable,
  attemptId: string,
  source: EvidenceSource,
  finding: object,
): Promise<void> {
  await db.query(NOTE, [attemptId, source, JSON.stringify(finding)]);
}

/** A job that a callback on the attempt's own path named. */
export interface NamedJob {
  job_id: string;
  /** Whether the provider's signature stands behind it. */
  verified: boolean;
}

const NAMED = statement(
  'evidence_named_jobs',
  `select finding->>'job' as job_id, bool_or((finding->>'verified')::boolean) as verified
   from evidence where attempt_id = $1 and source = 'callback' and finding->>'job' is not null
   group by 1 order by verified desc, min(first_at)`,
);

/** The jobs that callbacks named for an attempt, those with a good signature first. */
export function namedJobs(db: Queryable, attemptId: string): Promise<NamedJob[]> {
  return db.query<NamedJob>(NAMED, [attemptId]);
}
