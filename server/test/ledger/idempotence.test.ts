import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/database/database.ts';
import { createTestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import { type CallResult, createHistory, type LedgerHistory, type Movement } from './history.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { assertLinearizable } from './linearizability.ts';
import { openClients, runRounds } from './rounds.ts';

const CLIENTS = 6;
/** Movements of the same name that each client sends, one after the other. */
const CALLS_PER_CLIENT = 2;

const database = await createTestDatabase();
const clients = openClients(database.url, CLIENTS);
after(async () => {
  const problems = await ledgerProblems(database.db);
  await Promise.all(clients.map((client) => client.close()));
  await database.close();
  assert.deepEqual(problems, []);
});

/** Opens an account with these paid credits, granted under this reference. */
async function openAccount(history: LedgerHistory, credits: number, reference: number) {
  const accountId = await createAccount(database.db, `${crypto.randomUUID()}@example.com`);
  const given = { type: 'grant', accountId, kind: 'paid', credits, reference } as const;
  assert.equal(await history.call(database.db, given), 'booked');
  return accountId;
}

interface SentMovement {
  movement: Movement;
  result: CallResult;
}

/** All clients send random ones of these movements at once; then each movement is sent once more. */
async function sendAtOnce(
  history: LedgerHistory,
  movements: [Movement, ...Movement[]],
  random: Random,
): Promise<SentMovement[]> {
  const send = async (client: Database, own: Random): Promise<SentMovement[]> => {
    const sent: SentMovement[] = [];
    for (let call = 0; call < CALLS_PER_CLIENT; call += 1) {
      const movement = own.pick(movements);
      sent.push({ movement, result: await history.call(client, movement) });
    }
    return sent;
  };
  const parallel = await Promise.all(clients.map((client) => send(client, random.fork())));
  const sent = parallel.flat();
  for (const movement of movements)
    sent.push({ movement, result: await history.call(database.db, movement) });
  return sent;
}

/** Asserts that one movement was booked and all others got the result `otherwise`. @returns that one */
function assertOneBooked(
  sent: SentMovement[],
  otherwise: (isEqual: boolean) => CallResult,
): Movement {
  const booked = sent.filter(({ result }) => result === 'booked');
  assert.equal(booked.length, 1, `${booked.length} movements of one name were booked`);
  const [first] = booked;
  assert.ok(first);
  for (const one of sent) {
    if (one === first) continue;
    assert.equal(
      one.result,
      otherwise(one.movement === first.movement),
      JSON.stringify(one.movement),
    );
  }
  return first.movement;
}

const isRepeatOrConflict = (isEqual: boolean): CallResult => (isEqual ? 'repeated' : 'conflict');

for (const type of ['grant', 'adjust'] as const) {
  test(`one reference, equal and other values at once, ${type}: one is booked`, async (t) => {
    await runRounds(t, async (random) => {
      const history = createHistory(`${crypto.randomUUID()}-`);
      const accountId = await openAccount(history, 1000, 1);
      const other = await openAccount(history, 1000, 2);
      const movement = { type, accountId, kind: 'paid', credits: 40, reference: 3 } as const;
      const conflicts: Movement[] = [
        { ...movement, credits: 41 },
        { ...movement, accountId: other },
      ];
      if (type === 'grant') conflicts.push({ ...movement, kind: 'promotional' });
      else conflicts.push({ ...movement, credits: -40 });
      const sent = await sendAtOnce(history, [movement, ...conflicts], random);
      assertOneBooked(sent, isRepeatOrConflict);
      await assertLinearizable(database.db, history);
    });
  });
}

test('an adjustment that the balance covers once: no repeat is refused', async (t) => {
  await runRounds(t, async (random) => {
    const history = createHistory(`${crypto.randomUUID()}-`);
    const accountId = await openAccount(history, 50, 1);
    const kind = 'paid';
    const movement: Movement = { type: 'adjust', accountId, kind, credits: -40, reference: 2 };
    const sent = await sendAtOnce(history, [movement], random);
    assertOneBooked(sent, isRepeatOrConflict);
    await assertLinearizable(database.db, history);
  });
});
