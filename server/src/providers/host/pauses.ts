import { type Queryable, statement, type Transaction } from '../../database/database.ts';

/** What can be paused: all creates, or the submits of a provider, by its name. */
export type PauseSubject = 'creates' | (string & {});

const PAUSE = statement(
  'pause',
  `insert into pauses as p (subject, reason) values ($1, $2)
   on conflict (subject) do update set reason = excluded.reason where p.reason <> excluded.reason
   returning subject`,
);

/** @returns whether this changed anything: it is not paused yet, or for another reason */
export async function pause(tx: Transaction, subject: PauseSubject, reason: string) {
  return (await tx.query(PAUSE, [subject, reason])).length > 0;
}

const RESUME = statement('pause_end', 'delete from pauses where subject = $1 returning subject');

/** @returns whether it was paused */
export async function endPause(tx: Transaction, subject: PauseSubject): Promise<boolean> {
  return (await tx.query(RESUME, [subject])).length > 0;
}

const LIST = statement('pause_list', 'select subject, reason, paused_at from pauses');

export interface Pause {
  subject: PauseSubject;
  reason: string;
  paused_at: Date;
}

export function listPauses(db: Queryable): Promise<Pause[]> {
  return db.query<Pause>(LIST);
}
