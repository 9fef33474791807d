import { query } from '../../database/database.ts';
import type { TaskInput } from '../../tasks/task.ts';

export interface Review {
  id: string;
  account_id: string;
  surface: string;
  model: string;
  mode: string;
  prompt: string;
  credits: number;
  /** Who asked for the review, and why. */
  source: string;
  reason: string | null;
  in_review_since: Date;
  inputs: TaskInput[];
  /** By the database's clock, since 1970. */
  now_seconds: number;
}

/**
 * A page of the tasks in review, longest waiting first.
 * @param after the last task of the previous page, which may have been decided since
 */
export const listReviews = query<[after: string | null, limit: number], Review>(
  'operator_reviews',
  `select tasks.id, account_id, surface, request->>'model' as model, request->>'mode' as mode,
     request->>'prompt' as prompt, credits, coalesce(v.source, 'operator') as source, v.reason,
     updated_at as in_review_since, inputs,
     extract(epoch from clock_now())::float8 as now_seconds
   from tasks left join moderation_verdicts v on v.task_id = tasks.id
   where phase = 'review' and due_at is not null and ($1::text is null
     or (tasks.created_at, tasks.id) > (select c.created_at, c.id from tasks c where c.id = $1))
   order by tasks.created_at, tasks.id limit $2`,
);
