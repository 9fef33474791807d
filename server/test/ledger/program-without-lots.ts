import { namedStatement, type Queryable } from '../../src/database/database.ts';

/** The statement of the last program that knows no lots. It may run beside a newer program. */
const TRANSFER = namedStatement(
  'ledger_transfer_without_lots',
  ['accountId', 'kind', 'source', 'target', 'credits', 'reason', 'reference', 'note'],
  `with moved as (
     update ledger_balances set
       granted = granted
         + :credits::bigint * ((:source = 'granted')::int - (:target = 'granted')::int),
       available = available
         + :credits::bigint * ((:target = 'available')::int - (:source = 'available')::int),
       reserved = reserved
         + :credits::bigint * ((:target = 'reserved')::int - (:source = 'reserved')::int),
       spent = spent + :credits::bigint * ((:target = 'spent')::int - (:source = 'spent')::int)
     where account_id = :accountId and kind = :kind
     returning available, reserved)
   insert into ledger_transfers
     (account_id, kind, source, target, credits, reason, reference, note,
      available_after, reserved_after)
   select :accountId, :kind, :source, :target, :credits::bigint, :reason, :reference, :note,
     available, reserved from moved
   returning id`,
);

interface Move {
  accountId: string;
  credits: number;
  source: string;
  target: string;
  reason: string;
  reference: string;
}

async function transfer(tx: Queryable, move: Move): Promise<void> {
  await tx.query(TRANSFER, TRANSFER.values({ ...move, kind: 'paid', note: null }));
}

/** A grant of paid credits by the program without lots. */
export function oldGrant(
  tx: Queryable,
  given: { accountId: string; credits: number; reference: string },
): Promise<void> {
  const reference = `grant:${given.reference}`;
  return transfer(tx, {
    ...given,
    source: 'granted',
    target: 'available',
    reason: 'grant',
    reference,
  });
}

/** A reserve by the program without lots. */
export function oldReserve(
  tx: Queryable,
  { accountId, taskId, credits }: { accountId: string; taskId: string; credits: number },
): Promise<void> {
  const sides = { source: 'available', target: 'reserved', reason: 'reserve' };
  return transfer(tx, { accountId, credits, ...sides, reference: `reserve:${taskId}` });
}

/** A settlement by the program without lots. */
export function oldSettle(
  tx: Queryable,
  settlement: {
    accountId: string;
    taskId: string;
    credits: number;
    outcome: 'capture' | 'refund';
  },
): Promise<void> {
  const { accountId, taskId, credits, outcome } = settlement;
  const target = outcome === 'capture' ? 'spent' : 'available';
  const sides = { source: 'reserved', target, reason: outcome };
  return transfer(tx, { accountId, credits, ...sides, reference: `settle:${taskId}` });
}
