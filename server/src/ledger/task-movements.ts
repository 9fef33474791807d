import { type Queryable, statement } from '../database/database.ts';
import type { BalanceKind, Reason } from './transfer.ts';

/** A movement of a task's credits. */
export interface TaskMovement {
  at: Date;
  kind: BalanceKind;
  reason: Reason;
  credits: number;
}

const READ = statement(
  'ledger_task_movements',
  `select created_at as at, kind, reason, credits from ledger_transfers
   where account_id = $2 and reference = any(array['reserve:' || $1::text,
     'reserve:' || $1::text || ':promotional', 'reserve:' || $1::text || ':test',
     'settle:' || $1::text, 'settle:' || $1::text || ':promotional',
     'settle:' || $1::text || ':test'])
   order by id`,
);

/** Every movement of the credits of a task, of all kinds, in their order. */
export function taskMovements(
  db: Queryable,
  accountId: string,
  taskId: string,
): Promise<TaskMovement[]> {
  return db.query<TaskMovement>(READ, [taskId, accountId]);
}
