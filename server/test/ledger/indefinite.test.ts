import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createTestDatabase } from '../database.ts';
import type { Random } from '../random.ts';
import type { Cut } from './cutting-proxy.ts';
import { type CallResult, createHistory, type LedgerHistory, type Movement } from './history.ts';
import { ledgerProblems } from './ledger-problems.ts';
import { assertLinearizable } from './linearizability.ts';
import {
  assertBothOccurred,
  type CutDatabase,
  countLost,
  cutsFor,
  newTally,
  openCutDatabase,
  retryOnDatabase,
} from './lost-responses.ts';
import { runRounds } from './rounds.ts';

const CLIENTS = 4;

const database = await createTestDatabase();
const open = () => openCutDatabase(database.url);
const clients = await Promise.all(Array.from({ length: CLIENTS }, open));
after(async () => {
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  await database.close();
});

/** One round. Its accounts have more credits than it moves, so that nothing is refused. */
interface Round {
  history: LedgerHistory;
  accounts: [string, ...string[]];
  /** A reference or task that is not used yet. */
  newName(): number;
}

async function openRound(): Promise<Round> {
  const history = createHistory(`${crypto.randomUUID()}-`);
  let names = 0;
  const newName = () => {
    names += 1;
    return names;
  };
  const open = async () => {
    const accountId = await createAccount(database.db, `${crypto.randomUUID()}@example.com`);
    for (const kind of ['paid', 'promotional'] as const) {
      const credits = 100_000;
      await history.call(database.db, {
        type: 'grant',
        accountId,
        kind,
        credits,
        reference: newName(),
      });
    }
    return accountId;
  };
  return { history, accounts: [await open(), await open()], newName };
}

function movementsOf({ accounts, newName }: Round, random: Random): [Movement, ...Movement[]] {
  const accountId = random.pick(accounts);
  const kind = random.pick(['paid', 'promotional']);
  const credits = random.whole(1, 100);
  const reservation = { accountId, task: newName(), credits };
  return [
    { type: 'grant', accountId, kind, credits, reference: newName() },
    {
      type: 'adjust',
      accountId,
      kind,
      credits: random.pick([1, -1]) * credits,
      reference: newName(),
    },
    { type: 'reserve', ...reservation },
    { type: random.pick(['capture', 'refund']), ...reservation },
  ];
}

/** Sends a movement until its client knows that it has taken effect. */
async function makeSure(client: CutDatabase, { history }: Round, movement: Movement, cuts: Cut[]) {
  const { response, lost } = await retryOnDatabase<CallResult>(client, cuts, () =>
    history.call(client.db, movement),
  );
  const isDone = response === ('reference' in movement ? 'repeated' : 'conflict');
  assert.ok(isDone || response === 'booked', `${JSON.stringify(movement)} got ${response}`);
  await history.call(database.db, { type: 'read', accountId: movement.accountId });
  return { lost, isDone };
}

test('a client that lost a response learns the result, and nothing is booked twice', async (t) => {
  const tallies = {
    grant: newTally(),
    adjust: newTally(),
    reserve: newTally(),
    settle: newTally(),
  };
  await runRounds(t, async (random) => {
    const round = await openRound();
    const run = async (client: CutDatabase, strategy: number, own: Random) => {
      for (const movement of movementsOf(round, own)) {
        const cuts = cutsFor(strategy, own, 3);
        const found = await makeSure(client, round, movement, cuts);
        const name =
          movement.type === 'capture' || movement.type === 'refund' ? 'settle' : movement.type;
        countLost(tallies[name], found);
      }
    };
    await Promise.all(clients.map((client, strategy) => run(client, strategy, random.fork())));
    await assertLinearizable(database.db, round.history);
  });
  for (const [type, tally] of Object.entries(tallies)) assertBothOccurred(t, type, tally);
  assert.deepEqual(await ledgerProblems(database.db), []);
});
