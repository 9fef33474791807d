import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, UsageError } from '../../src/kernel/errors.ts';
import { clawBack } from '../../src/ledger/debts.ts';
import { adjust, balances, grant, settle } from '../../src/ledger/ledger.ts';
import { GRACE_DAYS } from '../../src/ledger/lot-book.ts';
import { bringUpToDate } from '../../src/ledger/lots.ts';
import type { CreditKind } from '../../src/ledger/transfer.ts';
import { makeCustomer } from '../customer.ts';
import { openTestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import { sql } from '../task-fixtures.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { LotModel } from './lot-model.ts';
import { reserve } from './reserve.ts';
import { runRounds } from './rounds.ts';

const database = await openTestDatabase();
const { db } = database;

const START = Date.UTC(2030, 0, 1);
const DAY = 24 * 3600 * 1000;

/** Days since the start, on the database's clock. It never goes back, also between histories. */
let today = 0;

async function wait(days: number): Promise<void> {
  today += days;
  const now = new Date(START + today * DAY).toISOString();
  const clock = 'create or replace function clock_now() returns timestamptz language sql volatile';
  await sql(db, `${clock} as $$ select '${now}'::timestamptz $$`);
}

/** Credits are paid ones unless `kind` is given. A task of the website has both kinds. */
type Command =
  | { type: 'wait'; days: number }
  | { type: 'grant'; credits: number; days?: number; kind?: CreditKind }
  | { type: 'reserve'; task: number; credits: number; isWeb?: boolean }
  | { type: 'capture' | 'refund'; task: number }
  | { type: 'adjust'; credits: number; kind?: CreditKind }
  | { type: 'clawback'; grant: number; credits: number; kind?: CreditKind };

const HISTORIES = 7;
const COMMANDS = 50;

const EVERY_REASON_AND_A_GRACE_LOT: Command[] = [
  { type: 'grant', credits: 20, days: 2 },
  { type: 'reserve', task: 1, credits: 20 },
  { type: 'wait', days: 3 },
  { type: 'refund', task: 1 },
  { type: 'grant', credits: 10 },
  { type: 'reserve', task: 2, credits: 25 },
  { type: 'clawback', grant: 1, credits: 10 },
  { type: 'grant', credits: 10 },
  { type: 'adjust', credits: 1 },
  { type: 'capture', task: 2 },
  { type: 'grant', credits: 5, days: 1 },
  { type: 'wait', days: 2 },
];

const REFUND_TO_A_LOT_AND_A_GRACE_LOT: Command[] = [
  { type: 'grant', credits: 20, days: 1 },
  { type: 'grant', credits: 20, days: 30 },
  { type: 'reserve', task: 1, credits: 30 },
  { type: 'wait', days: 2 },
  { type: 'refund', task: 1 },
  { type: 'wait', days: GRACE_DAYS - 1 },
  { type: 'wait', days: 1 },
  { type: 'adjust', credits: 21 },
  { type: 'wait', days: 30 },
];

const RESERVATION_FROM_BEFORE_THE_FIRST_LOT: Command[] = [
  { type: 'grant', credits: 20 },
  { type: 'reserve', task: 1, credits: 20 },
  { type: 'grant', credits: 10, days: 1 },
  { type: 'refund', task: 1 },
  { type: 'wait', days: 2 },
];

const SCRIPTED = [
  EVERY_REASON_AND_A_GRACE_LOT,
  REFUND_TO_A_LOT_AND_A_GRACE_LOT,
  RESERVATION_FROM_BEFORE_THE_FIRST_LOT,
];

/** Draws commands of one account. Most settle a task that is open, since others are only refused. */
function commandsOf(random: Random): Command[] {
  const open: number[] = [];
  let tasks = 0;
  const draw = (): Command => {
    const type = random.pick([
      'wait',
      'grant',
      'reserve',
      'reserve',
      'end',
      'end',
      'adjust',
      'clawback',
      'clawback',
    ]);
    const credits = random.whole(1, 30);
    const kind = random.pick(['paid', 'paid', 'promotional'] as const);
    if (type === 'wait') return { type, days: random.whole(1, 5) };
    if (type === 'grant') {
      const given = { type, credits, kind };
      return random.chance(0.7) ? { ...given, days: random.whole(1, 12) } : given;
    }
    if (type === 'reserve') {
      tasks += 1;
      open.push(tasks);
      return { type, task: tasks, credits, isWeb: random.chance(0.5) };
    }
    if (type === 'end') {
      const [task = 1] = random.chance(0.9) ? open.splice(random.below(open.length), 1) : open;
      return { type: random.pick(['capture', 'refund', 'refund']), task };
    }
    if (type === 'adjust') return { type, credits, kind };
    return { type, grant: random.below(8), credits: random.whole(1, 15), kind };
  };
  return Array.from({ length: COMMANDS }, draw);
}

/** One account with its commands, as the ledger carries them out. */
class Account {
  readonly id: string;
  #grants = { paid: 0, promotional: 0 };
  #names = 0;
  #reserved = new Map<number, { credits: number; promotionalCredits: number; isWeb: boolean }>();

  constructor(id: string) {
    this.id = id;
  }

  async carryOut(command: Command): Promise<boolean> {
    try {
      await this.#book(command);
      return true;
    } catch (error) {
      assert.ok(isRefusal(error), String(error));
      return false;
    }
  }

  async #book(command: Command): Promise<void> {
    const accountId = this.id;
    if (command.type === 'wait') return wait(command.days);
    if (command.type === 'grant') return this.#grant(command);
    this.#names += 1;
    const named = { accountId, reference: `${accountId}:${this.#names}`, note: 'a test' };
    if (command.type === 'adjust') {
      const { kind = 'paid', credits } = command;
      await adjust(db, { ...named, kind, credits: -credits });
      return;
    }
    if (command.type === 'clawback') {
      const payment = `${accountId}-${command.kind ?? 'paid'}-${command.grant}`;
      await clawBack(db, { ...named, credits: command.credits, payment }, async () => {});
      return;
    }
    await this.#bookTask(command);
  }

  async #grant(command: Extract<Command, { type: 'grant' }>) {
    const { credits, days, kind = 'paid' } = command;
    const reference = `${this.id}-${kind}-${this.#grants[kind]}`;
    this.#grants[kind] += 1;
    const given = { accountId: this.id, kind, credits, reference };
    const expiresAt = days === undefined ? undefined : new Date(START + (today + days) * DAY);
    await grant(db, { ...given, expiresAt });
  }

  async #bookTask(command: Extract<Command, { task: number }>): Promise<void> {
    const { task } = command;
    const named = { accountId: this.id, taskId: `${this.id}-${task}` };
    if (command.type === 'reserve') {
      const { credits, isWeb = false } = command;
      const spends = isWeb ? 'promotional_first' : 'paid';
      const promotionalCredits = await db.transaction((tx) =>
        reserve(tx, { ...named, credits, spends }),
      );
      this.#reserved.set(task, { credits, promotionalCredits, isWeb });
      return;
    }
    const reserved = this.#reserved.get(task);
    if (!reserved) throw new UsageError('the task has no reservation to settle');
    const { type } = command;
    await db.transaction((tx) => settle(tx, type, [{ ...named, ...reserved }]));
    this.#reserved.delete(task);
  }
}

function isRefusal(error: unknown): boolean {
  if (error instanceof UsageError || error instanceof ApiError) return true;
  return error instanceof Error && 'code' in error && /^23/.test(String(error.code));
}

/** One model for each kind of credits. */
type Models = Record<CreditKind, LotModel>;

function apply(models: Models, command: Command): boolean {
  switch (command.type) {
    case 'wait':
      for (const model of Object.values(models)) model.wait(command.days);
      return true;
    case 'grant':
      models[command.kind ?? 'paid'].grant(command.credits, command.days);
      return true;
    case 'reserve':
      return reserveIn(models, command);
    case 'adjust':
      return models[command.kind ?? 'paid'].adjustDown(command.credits);
    case 'clawback':
      return models[command.kind ?? 'paid'].clawBack(command.grant, command.credits);
    case 'capture':
    case 'refund': {
      const settled = Object.values(models).map((one) => one.settle(command.task, command.type));
      return settled.includes(true);
    }
  }
}

function reserveIn({ paid, promotional }: Models, command: Extract<Command, { type: 'reserve' }>) {
  const { task, credits, isWeb = false } = command;
  const gift = isWeb ? Math.min(credits, promotional.available) : 0;
  if (gift === credits) return promotional.reserve(task, gift);
  if (!paid.reserve(task, credits - gift)) return false;
  return gift === 0 || promotional.reserve(task, gift);
}

/** The balances of one kind after they were brought up to date. */
async function balanceOf(accountId: string, kind: CreditKind = 'paid') {
  await db.transaction((tx) => bringUpToDate(tx, { accountId, kind }));
  const select = 'select debt from ledger_balances where account_id = $1 and kind = $2';
  const [row] = await sql<{ debt: number }>(db, select, [accountId, kind]);
  return { ...(await balances(db, accountId))[kind], debt: row?.debt };
}

test('lots and debts equal those of a model that keeps each credit by itself', async (t) => {
  await runRounds(t, async (random) => {
    const drawn = Array.from({ length: HISTORIES }, () => commandsOf(random));
    for (const commands of [...SCRIPTED, ...drawn]) {
      const account = new Account((await makeCustomer(db, 0)).accountId);
      const models: Models = { paid: new LotModel(), promotional: new LotModel() };
      for (const command of commands) {
        const booked = await account.carryOut(command);
        assert.equal(booked, apply(models, command), JSON.stringify(command));
        if (!SCRIPTED.includes(commands) && random.chance(0.5)) continue;
        for (const kind of ['paid', 'promotional'] as const) {
          const { available, reserved, debt } = models[kind];
          assert.deepEqual(await balanceOf(account.id, kind), { available, reserved, debt });
        }
      }
    }
  });
  assert.deepEqual(await ledgerProblems(db), []);
  const select = 'select reason, count(*) as transfers from ledger_transfers group by reason';
  const reasons = await sql<{ reason: string; transfers: number }>(db, select);
  const graces = await sql(db, 'select name from ledger_lots where grant_id <> made_by');
  const query = `select from ledger_transfers p join ledger_transfers r
      on r.reference || ':promotional' = p.reference where p.reason = 'reserve'`;
  const splits = await sql(db, query);
  t.diagnostic(JSON.stringify({ reasons, graces: graces.length, splits: splits.length }));
  assert.ok(splits.length > 0, 'some tasks of the website were paid with both kinds');
  assert.equal(reasons.length, 8, 'each reason occurred');
  assert.ok(graces.length > 0, 'some refunds came after their lot had expired');
});

test('lots are made again from the transfers alone', async () => {
  const lots = () => sql(db, 'select * from ledger_lots order by name');
  const movements = () => sql(db, 'select * from ledger_lot_movements order by transfer_id, lot');
  const select = 'select account_id, kind from ledger_balances where lots_through is not null';
  const withLots = await sql<{ account_id: string; kind: CreditKind }>(db, select);
  const bringAllUpToDate = async () => {
    for (const { account_id, kind } of withLots) await balanceOf(account_id, kind);
  };
  await bringAllUpToDate();
  const before = [await lots(), await movements()];
  assert.ok(before[0]?.length);
  await sql(db, 'delete from ledger_lot_movements');
  await sql(db, 'delete from ledger_lots');
  const update = `update ledger_balances set lots_through = 0, lots_due_at = clock_now()
    where lots_through is not null`;
  await sql(db, update);
  await bringAllUpToDate();
  assert.deepEqual([await lots(), await movements()], before);
  assert.deepEqual(await ledgerProblems(db), []);
});
