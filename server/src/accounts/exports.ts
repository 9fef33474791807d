import {
  command,
  queryFirst,
  queryValue,
  type Transaction,
  whether,
} from '../database/database.ts';
import { markForDeletion } from '../storage/objects.ts';

// The archive of what an account has. Its owner asks for it, a worker makes it, and it is kept for
// a day.

/** After this time a try counts as dead, and the next may begin. The first result is kept. */
const TRY_MINUTES = 15;
const MAX_TRIES = 10;

/** Asks for an export, unless one is being made; the previous one is deleted. */
export async function askForExport(tx: Transaction, accountId: string): Promise<void> {
  if (await ask(tx, accountId)) await markForDeletion(tx, [accountId], ['export']);
}

const ask = whether<[accountId: string], Transaction>(
  'export_ask',
  `insert into account_exports (account_id) values ($1)
   on conflict (account_id) do update set asked_at = clock_now(), due_at = clock_now(), tries = 0,
     object_id = null
     where account_exports.due_at is null or account_exports.tries >= ${MAX_TRIES}
   returning account_id`,
);

interface AccountExport {
  asked_at: Date;
  is_being_made: boolean;
  /** Null: there is none. */
  object_id: string | null;
}

export const readExport = queryFirst<[accountId: string], AccountExport>(
  'export_read',
  `select asked_at, object_id, due_at is not null and tries < ${MAX_TRIES} as is_being_made
   from account_exports where account_id = $1`,
);

/** Takes the next export that is due. @returns its account */
export const takeExport = queryValue<[], string | undefined>(
  'export_take',
  `update account_exports set tries = tries + 1,
     due_at = clock_now() + interval '${TRY_MINUTES} minutes'
   where account_id = (select account_id from account_exports
     where due_at <= clock_now() and tries < ${MAX_TRIES}
     order by due_at limit 1 for update skip locked)
   returning account_id`,
  undefined,
);

/**
 * @param objectId null: none can be made
 * @returns false if another try has ended first, or the export was removed
 */
export const endExport = whether<[accountId: string, objectId: string | null], Transaction>(
  'export_end',
  `update account_exports set due_at = null, object_id = $2
   where account_id = $1 and due_at is not null returning account_id`,
);

const forget = command<[accountId: string], Transaction>(
  'export_forget',
  'delete from account_exports where account_id = $1',
);

/** Deletes the export of an account that is closed or erased, also one that is being made. */
export async function removeExport(tx: Transaction, accountId: string): Promise<void> {
  await forget(tx, accountId);
  await markForDeletion(tx, [accountId], ['export']);
}
