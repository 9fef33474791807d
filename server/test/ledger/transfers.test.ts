import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import {
  type CallResult,
  createHistory,
  type LedgerHistory,
  type LedgerRequest,
  type Movement,
  type TaskMovement,
} from './history.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { assertLinearizable } from './linearizability.ts';
import { openClients, runRounds } from './rounds.ts';

const CLIENTS = 8;
const CALLS_PER_CLIENT = 40;

const database = await createTestDatabase();
const clients = openClients(database.url, CLIENTS);
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await database.close();
});

/** What the clients of a round share: accounts, movements that were sent, and reservations. */
interface Round {
  history: LedgerHistory;
  accounts: [string, ...string[]];
  sent: Movement[];
  reserved: TaskMovement[];
}

const open = async () => (await makeCustomer(database.db, 0)).accountId;

async function openRound(): Promise<Round> {
  const accounts: Round['accounts'] = [await open(), await open(), await open()];
  return { history: createHistory(`${crypto.randomUUID()}-`), accounts, sent: [], reserved: [] };
}

async function runClient(client: Database, round: Round, random: Random): Promise<void> {
  for (let call = 0; call < CALLS_PER_CLIENT; call += 1) {
    const request = nextCall(round, random);
    if (request.type !== 'read') round.sent.push(request);
    const result = await round.history.call(client, request);
    if (request.type === 'reserve' && result === 'booked') round.reserved.push(request);
  }
}

function nextCall(round: Round, random: Random): LedgerRequest {
  const accountId = random.pick(round.accounts);
  const before = round.sent[random.below(round.sent.length)];
  if (before && random.chance(0.2)) return before;
  if (random.chance(0.2)) return { type: 'read', accountId };
  return newMovement(accountId, round, random);
}

/** Few references and tasks for many calls, so that different movements use the same name. */
const REFERENCES = (CLIENTS * CALLS_PER_CLIENT) / 4;

function newMovement(accountId: string, { reserved }: Round, random: Random): Movement {
  const reference = random.below(REFERENCES);
  const kind = random.pick(['paid', 'paid', 'promotional']);
  const type = random.pick(['grant', 'adjust', 'reserve', 'reserve', 'settle', 'settle']);
  if (type === 'grant') return { type, accountId, kind, credits: random.whole(1, 60), reference };
  if (type === 'adjust') return { type, accountId, kind, credits: signed(random), reference };
  const found = reserved[random.below(reserved.length)];
  if (type === 'settle' && found) return { ...found, type: random.pick(['capture', 'refund']) };
  return { type: 'reserve', accountId, task: reference, credits: random.whole(1, 60) };
}

function signed(random: Random): number {
  return random.pick([1, -1]) * random.whole(1, 60);
}

test('many clients move and read credits at once: each timeline is linearizable', async (t) => {
  const tally: Record<string, number> = {};
  await runRounds(t, async (random) => {
    const round = await openRound();
    await Promise.all(clients.map((client) => runClient(client, round, random.fork())));
    await assertLinearizable(database.db, round.history);
    for (const { result } of round.history.calls) {
      const outcome = typeof result === 'string' ? result : 'read';
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
  });
  t.diagnostic(JSON.stringify(tally));
  for (const outcome of ['booked', 'repeated', 'conflict', 'insufficient', 'read']) {
    assert.ok(tally[outcome], `some calls got ${outcome}`);
  }
  assert.deepEqual(await ledgerProblems(database.db), []);
});

/** Movements of the same name that each client sends, one after the other. */
const CALLS_AT_ONCE = 2;

/** Opens an account with these paid credits, granted under this reference. */
async function openGranted(history: LedgerHistory, credits: number, reference: number) {
  const accountId = await open();
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
    for (let call = 0; call < CALLS_AT_ONCE; call += 1) {
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

/** Asserts that one movement was booked; its repeats are recognised, and others are conflicts. */
function assertOneBooked(sent: SentMovement[]): void {
  const [booked, ...more] = sent.filter(({ result }) => result === 'booked');
  assert.ok(booked && more.length === 0, 'exactly one movement of a name is booked');
  for (const one of sent.filter((other) => other !== booked)) {
    const expected: CallResult = one.movement === booked.movement ? 'repeated' : 'conflict';
    assert.equal(one.result, expected, JSON.stringify(one.movement));
  }
}

for (const type of ['grant', 'adjust'] as const) {
  test(`one reference, equal and other values at once, ${type}: one is booked`, async (t) => {
    await runRounds(t, async (random) => {
      const history = createHistory(`${crypto.randomUUID()}-`);
      const accountId = await openGranted(history, 1000, 1);
      const other = await openGranted(history, 1000, 2);
      const movement = { type, accountId, kind: 'paid', credits: 40, reference: 3 } as const;
      const conflicts: Movement[] = [
        { ...movement, credits: 41 },
        { ...movement, accountId: other },
      ];
      if (type === 'grant') conflicts.push({ ...movement, kind: 'promotional' });
      else conflicts.push({ ...movement, credits: -40 });
      const sent = await sendAtOnce(history, [movement, ...conflicts], random);
      assertOneBooked(sent);
      await assertLinearizable(database.db, history);
    });
  });
}

test('an adjustment that the balance covers once: no repeat is refused', async (t) => {
  await runRounds(t, async (random) => {
    const history = createHistory(`${crypto.randomUUID()}-`);
    const accountId = await openGranted(history, 50, 1);
    const kind = 'paid';
    const movement: Movement = { type: 'adjust', accountId, kind, credits: -40, reference: 2 };
    const sent = await sendAtOnce(history, [movement], random);
    assertOneBooked(sent);
    await assertLinearizable(database.db, history);
  });
});
