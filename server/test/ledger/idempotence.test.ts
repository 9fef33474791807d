import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { auditLedger } from '../../src/ledger/audit.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { createTestDatabase, quiet, type TestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import { createHistory, type History, type Move, type Told } from './client.ts';
import { assertLinearizable } from './history.ts';
import { runRounds } from './rounds.ts';

const CLIENTS = 6;
/** Each client sends so many of the movements that want one name, one after the other. */
const CALLS_PER_CLIENT = 2;

let database: TestDatabase;
let clients: Database[];

before(async () => {
  database = await createTestDatabase();
  const { url } = database;
  clients = Array.from({ length: CLIENTS }, () =>
    openDatabase({ url, connections: 1, log: quiet }),
  );
});
after(async () => {
  const problems = await database.db.snapshot(auditLedger);
  await Promise.all(clients.map((client) => client.close()));
  await database.close();
  assert.deepEqual(problems, []);
});

/** Opens an account with these paid credits; the grant has a name of its own. */
async function openAccount(history: History, credits: number, reference: number) {
  const accountId = await createAccount(database.db, `${crypto.randomUUID()}@example.com`);
  const given = { type: 'grant', accountId, kind: 'paid', credits, reference } as const;
  assert.equal(await history.ask(database.db, given), 'booked');
  return accountId;
}

interface Answered {
  move: Move;
  told: Told;
}

/** All clients send movements that the random choose, at the same time; then each comes once more. */
async function rush(
  history: History,
  moves: [Move, ...Move[]],
  random: Random,
): Promise<Answered[]> {
  const send = async (client: Database, own: Random): Promise<Answered[]> => {
    const answers: Answered[] = [];
    for (let call = 0; call < CALLS_PER_CLIENT; call += 1) {
      const move = own.pick(moves);
      answers.push({ move, told: await history.ask(client, move) });
    }
    return answers;
  };
  const atOnce = await Promise.all(clients.map((client) => send(client, random.fork())));
  const answers = atOnce.flat();
  for (const move of moves) answers.push({ move, told: await history.ask(database.db, move) });
  return answers;
}

/** Exactly one was booked, and all others hear what that makes of them. */
function assertOneBooked(answers: Answered[], otherwise: (isEqual: boolean) => Told): Move {
  const booked = answers.filter(({ told }) => told === 'booked');
  assert.equal(booked.length, 1, `${booked.length} of one name were booked`);
  const [first] = booked;
  assert.ok(first);
  for (const one of answers) {
    if (one === first) continue;
    assert.equal(one.told, otherwise(one.move === first.move), JSON.stringify(one.move));
  }
  return first.move;
}

const isRepeatOrConflict = (isEqual: boolean): Told => (isEqual ? 'repeated' : 'taken');

for (const type of ['grant', 'adjust'] as const) {
  test(`one reference, equal and other values at once, ${type}: one is booked`, async (t) => {
    await runRounds(t, async (random) => {
      const history = createHistory(`${crypto.randomUUID()}-`);
      const accountId = await openAccount(history, 1000, 1);
      const other = await openAccount(history, 1000, 2);
      const move = { type, accountId, kind: 'paid', credits: 40, reference: 3 } as const;
      const conflicts: Move[] = [
        { ...move, credits: 41 },
        { ...move, accountId: other },
      ];
      if (type === 'grant') conflicts.push({ ...move, kind: 'promotional' });
      else conflicts.push({ ...move, credits: -40 });
      const answers = await rush(history, [move, ...conflicts], random);
      assertOneBooked(answers, isRepeatOrConflict);
      await assertLinearizable(database.db, history);
    });
  });
}

test('an adjustment that the balance covers once: no repeat is told short', async (t) => {
  await runRounds(t, async (random) => {
    const history = createHistory(`${crypto.randomUUID()}-`);
    const accountId = await openAccount(history, 50, 1);
    const kind = 'paid';
    const move: Move = { type: 'adjust', accountId, kind, credits: -40, reference: 2 };
    const answers = await rush(history, [move], random);
    assertOneBooked(answers, isRepeatOrConflict);
    await assertLinearizable(database.db, history);
  });
});

test('one task, reserved and then settled by many at once: one reserve, one settlement', async (t) => {
  await runRounds(t, async (random) => {
    const history = createHistory(`${crypto.randomUUID()}-`);
    const accountId = await openAccount(history, 1000, 1);
    const reservation = { accountId, task: 1 };
    const holds = await rush(
      history,
      [
        { type: 'reserve', ...reservation, credits: 40 },
        { type: 'reserve', ...reservation, credits: 50 },
      ],
      random,
    );
    const { credits } = assertOneBooked(holds, () => 'taken');
    const ends = await rush(
      history,
      [
        { type: 'capture', ...reservation, credits },
        { type: 'refund', ...reservation, credits },
      ],
      random,
    );
    const { type } = assertOneBooked(ends, () => 'taken');
    await assertLinearizable(database.db, history);
    const available = type === 'refund' ? 1000 : 1000 - credits;
    assert.deepEqual((await balances(database.db, accountId)).paid, { available, reserved: 0 });
  });
});
