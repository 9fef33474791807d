import { type Database, statement } from '../database/database.ts';
import type { Report } from './audit-pages.ts';

const SIDES = ['granted', 'available', 'reserved', 'spent', 'debt'] as const;
/** Contra accounts: the more credits were granted, the lower the sum of the transfers. */
const CONTRA: readonly string[] = ['granted', 'debt'];

interface BalanceKey {
  account_id: string;
  kind: string;
}

interface Progress extends BalanceKey {
  through: number;
  sums: Record<string, number>;
}

interface Chunk extends BalanceKey {
  transfers: number;
  through: number;
  /** Transfers whose stored balance is not the sum of all transfers up to them. */
  wrong: number[];
  sums: Record<string, number>;
  balances: Record<string, number>;
}

const PAGE = statement(
  'audit_balance_page',
  `select account_id, kind from ledger_balances where (account_id, kind) > ($1, $2)
   order by account_id, kind limit $3`,
);

/** Compares the balances in the JSON array $1 with their lots, if the lots contain all transfers. */
const LOT_CHECK = statement(
  'audit_lot_balance',
  `select b.account_id || ': lots have ' || sum(l.available) || ' available ' || b.kind
     || ' credits, but the balance has ' || b.available as problem
   from jsonb_to_recordset($1) as p(account_id text, kind text)
   join ledger_balances b on b.account_id = p.account_id and b.kind = p.kind
   join ledger_lots l on l.account_id = b.account_id and l.kind = b.kind
   where not exists (select from ledger_transfers t
     where t.account_id = b.account_id and t.kind = b.kind and t.id > b.lots_through)
   group by b.account_id, b.kind having sum(l.available) > b.available`,
);

function effectOn(side: string): string {
  return `case '${side}' when target then credits when source then -credits else 0 end`;
}

const CHUNK = statement(
  'audit_balance_chunk',
  `select b.account_id, b.kind, c.transfers, c.through, c.wrong, c.sums,
     jsonb_build_object(${SIDES.map((side) => `'${side}', b.${side}`).join(', ')}) as balances
   from jsonb_to_recordset($1) as p(account_id text, kind text, through bigint, sums jsonb)
   join ledger_balances b on b.account_id = p.account_id and b.kind = p.kind
   cross join lateral (
     select count(*) as transfers, coalesce(max(id), p.through) as through,
       coalesce(array_agg(id) filter (where available <> available_after
         or reserved <> reserved_after), '{}') as wrong,
       jsonb_build_object(${SIDES.map(
         (side) => `'${side}', (p.sums->>'${side}')::bigint + coalesce(sum(${effectOn(side)}), 0)`,
       ).join(', ')}) as sums
     from (
       select id, source, target, credits, available_after, reserved_after,
         (p.sums->>'available')::bigint + sum(${effectOn('available')}) over in_order as available,
         (p.sums->>'reserved')::bigint + sum(${effectOn('reserved')}) over in_order as reserved
       from (
         select id, source, target, credits, available_after, reserved_after
         from ledger_transfers t
         where t.account_id = p.account_id and t.kind = p.kind and t.id > p.through
         order by id limit $2) next
       window in_order as (order by id)) checked) c`,
);

/**
 * Checks that the transfers of each balance add up to it, and that the balances stored with each
 * transfer are the sums up to this transfer. A balance's transfers are read in id order, in
 * chunks. They never change, and none can appear before one that was read: a transfer gets its id
 * while its transaction locks the balance's row. The last chunk and the balance share a snapshot.
 */
export async function auditBalances(
  db: Pick<Database, 'snapshot'>,
  sizes: { balances: number; chunk: number },
  report: Report,
): Promise<void> {
  let last: BalanceKey = { account_id: '', kind: '' };
  for (;;) {
    const values = [last.account_id, last.kind, sizes.balances];
    const page = await db.snapshot(async (tx) => {
      const keys = await tx.query<BalanceKey>(PAGE, values);
      const lots = await tx.query<{ problem: string }>(LOT_CHECK, [JSON.stringify(keys)]);
      for (const { problem } of lots) report(problem);
      return keys;
    });
    let open = page.map((key) => ({ ...key, through: 0, sums: zeroSums() }));
    while (open.length > 0) open = await readChunks(db, { open, chunk: sizes.chunk, report });
    if (page.length < sizes.balances) return;
    last = page.at(-1) ?? last;
  }
}

function zeroSums(): Record<string, number> {
  return Object.fromEntries(SIDES.map((side) => [side, 0]));
}

/** @returns the balances that have more transfers */
async function readChunks(
  db: Pick<Database, 'snapshot'>,
  input: { open: Progress[]; chunk: number; report: Report },
): Promise<Progress[]> {
  const { open, chunk: limit, report } = input;
  const values = [JSON.stringify(open), limit];
  const chunks = await db.snapshot((tx) => tx.query<Chunk>(CHUNK, values));
  for (const chunk of chunks) {
    for (const id of chunk.wrong) {
      report(`${chunk.account_id}: transfer ${id} stores a wrong ${chunk.kind} balance`);
    }
  }
  const isLast = (chunk: Chunk) => chunk.transfers < limit;
  for (const chunk of chunks.filter(isLast)) compare(chunk, report);
  return chunks.filter((chunk) => !isLast(chunk));
}

function compare({ account_id, kind, sums, balances }: Chunk, report: Report) {
  for (const side of SIDES) {
    const sum = sums[side] ?? 0;
    const total = CONTRA.includes(side) ? 0 - sum : sum;
    if (balances[side] === total) continue;
    report(
      `${account_id}: ${kind} ${side} is ${balances[side]}, but its transfers add up to ${total}`,
    );
  }
}
