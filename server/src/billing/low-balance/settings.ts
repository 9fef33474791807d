import {
  command,
  namedStatement,
  type Queryable,
  queryFirst,
  type Transaction,
} from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { knownCustomer, savedMethod } from '../customers.ts';
import { readOffer } from '../offers.ts';
import type { BillingDeps } from '../stripe-client.ts';

interface Row {
  alert_below: number | null;
  /** null: no auto-reload, and the other `reload_` columns are null too. */
  reload_pack: string | null;
  reload_below: number;
  reload_limit: number;
  reload_stopped: string | null;
}

const read = queryFirst<[accountId: string], Row>(
  'low_balance_read',
  `select alert_below, reload_pack, reload_below, reload_limit, reload_stopped
   from billing_accounts where account_id = $1`,
);

export async function readLowBalance(db: Queryable, accountId: string) {
  const row = await read(db, accountId);
  const { alert_below = null, reload_pack: pack_id = null } = row ?? {};
  if (!row || pack_id === null) return { alert_below, auto_reload: null };
  const { reload_below: below, reload_limit, reload_stopped } = row;
  // The limit is per calendar month, in minor units of the pack's currency.
  const reload = { pack_id, below, monthly_limit: reload_limit, stopped: reload_stopped };
  return { alert_below, auto_reload: reload };
}

/** Sets the number of available paid credits below which a mail is sent; null: never. */
export const setAlert = command<[accountId: string, below: number | null]>(
  'low_balance_alert',
  `insert into billing_accounts (account_id, alert_below) values ($1, $2)
   on conflict (account_id) do update
     set alert_below = excluded.alert_below, alerted_at = null`,
);

const SET_RELOAD = namedStatement(
  'low_balance_reload',
  `insert into billing_accounts (account_id, reload_pack, reload_below, reload_limit)
   values (:accountId, :packId, :below, :limit)
   on conflict (account_id) do update set reload_pack = excluded.reload_pack,
     reload_below = excluded.reload_below, reload_limit = excluded.reload_limit,
     reload_stopped = null`,
);

/**
 * Sets auto-reload, or switches it off if `settings` is null.
 * @param onSet is called in the transaction that switches it on
 * @throws ApiError `invalid_request` if the settings could never buy anything
 */
export async function setReload(
  { db, stripe, scope }: Pick<BillingDeps, 'db' | 'stripe' | 'scope'>,
  accountId: string,
  settings: { pack_id: string; below: number; monthly_limit: number } | null,
  onSet: (tx: Transaction) => Promise<void> = async () => {},
): Promise<void> {
  if (settings === null) {
    await db.query(SET_RELOAD, [accountId, null, null, null]);
    return;
  }
  const { pack_id: packId, below, monthly_limit: limit } = settings;
  const pack = await readOffer(db, 'pack', packId);
  if (!pack?.active) throw invalidRequest('This pack is not sold.', { field: 'pack_id' });
  if (limit < pack.price) {
    const message = 'The monthly limit is lower than the price of the pack.';
    throw invalidRequest(message, { field: 'monthly_limit' });
  }
  const customer = await knownCustomer(db, accountId, scope);
  if (customer === null || (await savedMethod(stripe, customer)) === null) {
    const message = 'No card is saved. Buy a pack with “Save this card” first.';
    throw invalidRequest(message, { field: 'card' });
  }
  await db.transaction(async (tx) => {
    await tx.query(SET_RELOAD, SET_RELOAD.values({ accountId, packId, below, limit }));
    await onSet(tx);
  });
}

export const forgetLowBalance = command<[accountId: string], Transaction>(
  'low_balance_forget',
  `update billing_accounts set alert_below = null, reload_pack = null, reload_below = null,
     reload_limit = null where account_id = $1`,
);
