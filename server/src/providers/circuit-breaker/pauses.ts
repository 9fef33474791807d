import { query, type Transaction, whether } from '../../database/database.ts';

/** What can be paused: all creates, or the submits of a provider, by its name. */
export type PauseSubject = 'creates' | (string & {});

/** @returns whether this changed anything: it was not paused yet, or paused for another reason */
export const pause = whether<[subject: PauseSubject, reason: string], Transaction>(
  'pause',
  `insert into pauses as p (subject, reason) values ($1, $2)
   on conflict (subject) do update set reason = excluded.reason where p.reason <> excluded.reason
   returning subject`,
);

export const endPause = whether<[subject: PauseSubject], Transaction>(
  'pause_end',
  'delete from pauses where subject = $1 returning subject',
);

export const listPauses = query<[], { subject: PauseSubject; reason: string; paused_at: Date }>(
  'pause_list',
  'select subject, reason, paused_at from pauses',
);
