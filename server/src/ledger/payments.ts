import { query, queryValue } from '../database/database.ts';

/** Whether the account ever had paid credits, even if spent or taken back since. */
export const hasPaid = queryValue<[accountId: string], boolean>(
  'ledger_has_paid',
  `select exists (select from ledger_transfers
     where account_id = $1 and kind = 'paid' and reason = 'grant') as paid`,
  false,
);

/**
 * What is left of each granted payment, by its reference without prefix: the grant less what
 * clawbacks took, as credits or as debt. Unknown references are left out.
 */
export const paymentSums = query<
  [names: string[]],
  { name: string; account_id: string; credits: number }
>(
  'ledger_payment_sums',
  `select name, t.account_id,
     sum(case t.reason when 'grant' then t.credits else -t.credits end)::int8 as credits
   from unnest($1::text[]) as name, unnest(array['grant:', 'clawback:', 'debt:']) as prefix,
     lateral (select account_id, reason, credits from ledger_transfers
       where reference = prefix || name) t
   group by name, t.account_id`,
);

export const paidBalances = query<
  [accountIds: string[]],
  { account_id: string; available: number; debt: number }
>(
  'ledger_paid_available',
  `select account_id, available, debt from ledger_balances
   where account_id = any($1) and kind = 'paid'`,
);

/** The transfers of orders in a range of ids. */
export const ordersOfTransfers = query<
  [after: number, through: number],
  { reference: string; order: string; movement: number }
>(
  'audit_payment_names',
  `select reference, split_part(reference, ':', 3) as order,
     split_part(reference, ':', 4)::int as movement
   from ledger_transfers where id > $1 and id <= $2
     and reference ~ '^(grant|clawback|debt):order:ord_[0-9A-Za-z]{24}:[0-9]{1,9}$'`,
);
