import { query } from '../database/database.ts';
import type { BalanceKind, Reason } from './transfer.ts';

/** A movement of a task's credits. */
export interface TaskMovement {
  at: Date;
  kind: BalanceKind;
  reason: Reason;
  credits: number;
}

/** Every movement of the credits of a task, of all kinds, in their order. */
export const taskMovements = query<[accountId: string, taskId: string], TaskMovement>(
  'ledger_task_movements',
  `select created_at as at, kind, reason, credits from ledger_transfers
   where account_id = $1 and reference = any(array['reserve:' || $2::text,
     'reserve:' || $2::text || ':promotional', 'reserve:' || $2::text || ':test',
     'settle:' || $2::text, 'settle:' || $2::text || ':promotional',
     'settle:' || $2::text || ':test'])
   order by id`,
);
