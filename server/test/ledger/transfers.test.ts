import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { makeCustomer } from '../customer.ts';
import { openTestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import {
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

after(() => Promise.all(clients.map((client) => client.close())));
const database = await openTestDatabase();
const clients = openClients(database.url, CLIENTS);

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
