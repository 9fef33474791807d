import { type Database, namedStatement, query, statement } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { type Action, recordAction } from './actions.ts';
import { type AuditResult, audit } from './audit.ts';

export interface AuditRun {
  id: number;
  actor: string;
  started_at: Date;
  /** Null while it runs. */
  ended_at: Date | null;
  /** How many contradictions it found; null while it runs and if it could not be finished. */
  found: number | null;
  /** The first hundred of them. */
  problems: string[] | null;
  /** Why it could not be finished. */
  failure: string | null;
}

const HEARTBEAT_SECONDS = 5;
const MAX_PROBLEMS = 100;

const END_DEAD = statement(
  'audit_run_end_dead',
  `update audit_runs set ended_at = clock_now(), failure = 'its process has ended'
   where ended_at is null and seen_at < clock_now() - interval '1 minute'`,
);

const BEGIN = statement(
  'audit_run_begin',
  'insert into audit_runs (actor) values ($1) on conflict do nothing returning id',
);

const HEARTBEAT = statement(
  'audit_run_beat',
  'update audit_runs set seen_at = clock_now() where id = $1 and ended_at is null',
);

const END = namedStatement(
  'audit_run_end',
  `update audit_runs set ended_at = clock_now(), found = :found, problems = :problems,
     failure = :failure
   where id = :id and ended_at is null`,
);

/** Starts an audit in the background, unless one is running in any process. */
export async function startAudit(
  { db, log }: { db: Database; log: Log },
  action: Action,
): Promise<{ changed: boolean; ended: Promise<void> }> {
  const id = await db.transaction(async (tx) => {
    await tx.query(END_DEAD);
    const [begun] = await tx.query<{ id: number }>(BEGIN, [action.actor]);
    if (begun) await recordAction(tx, action, { target: 'audit', details: { run: begun.id } });
    return begun?.id;
  });
  if (id === undefined) return { changed: false, ended: Promise.resolve() };
  return { changed: true, ended: run({ db, log }, id) };
}

async function run({ db, log }: { db: Database; log: Log }, id: number): Promise<void> {
  const heartbeat = new AbortController();
  const options = { name: 'the heartbeat of an audit', log, signal: heartbeat.signal };
  startInterval(HEARTBEAT_SECONDS, options, () => db.query(HEARTBEAT, [id]));
  const result = await audit(db).then(valuesOf, (error: Error) => {
    log.error({ err: error }, 'an audit could not be finished');
    return { found: null, problems: null, failure: error.message };
  });
  heartbeat.abort();
  await db.query(END, END.values({ id, ...result })).catch((err) => {
    log.error({ err }, 'the result of an audit could not be written');
  });
}

function valuesOf({ problems, found }: AuditResult) {
  const first = jsonText(problems.slice(0, MAX_PROBLEMS));
  return { found: found ?? problems.length, problems: first, failure: null };
}

/** The latest audits that operators started, newest first. */
export const listAudits = query<[limit: number], AuditRun>(
  'audit_run_list',
  `select id, actor, started_at, ended_at, found, problems, failure from audit_runs
   order by id desc limit $1`,
);
