// The room mail/: mails to owners. They are rows, written in the transaction that causes them, and
// a worker sends them: a transactional outbox. Only sign-in codes are sent without it.

import {
  command,
  type Database,
  namedStatement,
  query,
  type Transaction,
} from '../database/database.ts';
import { newId } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { SendMail } from './mailer.ts';

const ADD = namedStatement(
  'mail_add',
  `insert into mails (id, account_id, subject, text) values (:id, :accountId, :subject, :text)`,
);

/**
 * Stores a mail. A worker sends it after the commit, at least once, even if this process dies.
 * @param mail.accountId the account whose owner gets the mail, or the id of a report whose reporter
 * gets it
 */
export async function mailOwner(
  tx: Transaction,
  mail: { accountId: string; subject: string; text: string },
): Promise<void> {
  await tx.query(ADD, ADD.values({ id: newId('mail'), ...mail }));
}

const MAX_TAKEN = 4;
/** The pause after the first try, doubled after each further try. It is longer than a try takes. */
const PAUSE_MINUTES = 5;
const MAX_PAUSE_HOURS = 6;
/** A mail that can't be sent for this long is dropped. */
const KEPT_HOURS = 48;

// A claimed mail is due again later, in case its process dies or can't send it.
const take = query<[], TakenMail>(
  'mail_take',
  `update mails set tries = tries + 1,
     due_at = clock_now() + least(interval '${MAX_PAUSE_HOURS} hours',
       interval '${PAUSE_MINUTES} minutes' * 2 ^ least(tries, 10))
   where id = any(array(select id from mails where due_at <= clock_now() order by due_at
     limit ${MAX_TAKEN} for update skip locked))
   returning id, account_id, subject, text,
     created_at < clock_now() - interval '${KEPT_HOURS} hours' as is_last_try`,
);

interface TakenMail {
  id: string;
  account_id: string;
  subject: string;
  text: string;
  is_last_try: boolean;
}

const remove = command<[id: string]>('mail_remove', 'delete from mails where id = $1');

export interface OutboxDeps {
  db: Database;
  log: Log;
  sendMail: SendMail;
  /** The e-mail address of an account or of a reporter; undefined if it was erased. */
  addressOf(id: string): Promise<string | undefined>;
}

/** Sends the mails that are due. Several processes may do so at once. */
export async function sendDueMails(deps: OutboxDeps): Promise<void> {
  for (;;) {
    const taken = await take(deps.db);
    if (taken.length === 0) return;
    await Promise.all(taken.map((mail) => send(deps, mail)));
  }
}

async function send({ db, log, sendMail, addressOf }: OutboxDeps, mail: TakenMail): Promise<void> {
  const { id, account_id: account, subject, text, is_last_try: isLastTry } = mail;
  const to = await addressOf(account);
  if (to !== undefined && !(await sendMail({ id, to, subject, text }))) {
    if (!isLastTry) return;
    log.error({ account, mail: id }, `a mail was dropped after ${KEPT_HOURS} hours`);
  }
  await remove(db, id);
}

export const wakeMails = command<[]>(
  'mail_wake',
  'update mails set due_at = clock_now() where due_at > clock_now()',
);

export const eraseOf = command<[accountId: string], Transaction>(
  'mail_erase',
  'delete from mails where account_id = $1',
);
