import {
  command,
  namedStatement,
  type Queryable,
  queryFirst,
  type Transaction,
  whether,
} from '../database/database.ts';
import { storable } from '../database/json-text.ts';
import { tasksOf } from '../tasks/task-sql.ts';

/** What a check says about a request. Operators see the reason. */
export type Judgement =
  | { verdict: 'allow' }
  | { verdict: 'deny' | 'review'; reason: string | null };

/** What was decided about a task before its submit. */
export interface Verdict {
  verdict: Judgement['verdict'];
  /** `failure`: the service could not be asked, and the operator lets tasks go on then. */
  source: 'words' | 'service' | 'operator' | 'failure';
  reason: string | null;
}

const COLUMNS = 'verdict, source, reason';

export const readVerdict = queryFirst<[taskId: string], Verdict>(
  'verdict_read',
  `select ${COLUMNS} from moderation_verdicts where task_id = $1`,
);

// The update changes nothing: with it, `returning` has the earlier verdict.
const KEEP = namedStatement(
  'verdict_keep',
  `insert into moderation_verdicts (task_id, verdict, source, reason)
   values (:taskId, :verdict, :source, :reason)
   on conflict (task_id) do update set task_id = excluded.task_id returning ${COLUMNS}`,
);

/** Records a verdict, unless the task has one. @returns the task's verdict */
export async function keepVerdict(db: Queryable, taskId: string, given: Verdict): Promise<Verdict> {
  const reason = given.reason === null ? null : storable(given.reason);
  const [kept] = await db.query<Verdict>(KEEP, KEEP.values({ ...given, taskId, reason }));
  if (!kept) throw new Error(`the verdict on ${taskId} was not recorded`);
  return kept;
}

/** Replaces `review` by an operator's decision. */
export const decideVerdict = whether<[taskId: string, verdict: 'allow' | 'deny'], Transaction>(
  'verdict_decide',
  `update moderation_verdicts set verdict = $2, source = 'operator'
   where task_id = $1 and verdict = 'review' returning task_id`,
);

/** The reasons of verdicts may repeat a prompt. */
export const eraseOf = command<[accountId: string], Transaction>(
  'verdict_erase',
  `update moderation_verdicts set reason = null
   where reason is not null and task_id in (${tasksOf('$1')})`,
);
