import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeCustomer } from '../../../test/customer.ts';
import {
  bindingFor,
  claimTask,
  createTask,
  openTaskFixture,
  PRICE,
  recordAccepted,
  requestFor,
  sql,
} from '../../../test/task-fixtures.ts';
import { balances, grant } from '../../ledger/ledger.ts';
import type { Task } from '../task.ts';
import { moveNow } from '../transitions.ts';
import { taskCreator } from './create.ts';
import { WEB_SURFACE } from './new-task.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.closeAudited());

async function customer(credits: { paid: number; promotional: number }): Promise<string> {
  const { accountId } = await makeCustomer(db, credits.paid);
  const given = { accountId, kind: 'promotional', reference: accountId } as const;
  await grant(db, { ...given, credits: credits.promotional });
  return accountId;
}

function webRequest(accountId: string) {
  return requestFor({ ...bindingFor(accountId), surface: WEB_SURFACE });
}

async function webTask(accountId: string): Promise<Task> {
  return (await createTask(fixture.deps, webRequest(accountId))).task;
}

/** `available/reserved` of each kind. */
async function balancesOf(accountId: string): Promise<string[]> {
  const { promotional, paid } = await balances(db, accountId);
  return [promotional, paid].map(({ available, reserved }) => `${available}/${reserved}`);
}

test('a task of the website spends promotional credits first, one of the API none', async () => {
  const accountId = await customer({ paid: 2 * PRICE.credits, promotional: 100 });
  const web = await webTask(accountId);
  assert.equal(web.promotional_credits, 100);
  assert.deepEqual(await balancesOf(accountId), ['0/100', '350/150']);
  await createTask(fixture.deps, requestFor(bindingFor(accountId)));
  assert.deepEqual(await balancesOf(accountId), ['0/100', '100/400']);
});

test('identical creates of the website at once reserve once, also beside those of the API', async () => {
  const accountId = await customer({ paid: 1000, promotional: 100 });
  const create = taskCreator(fixture.deps);
  const checked = webRequest(accountId);
  const others = Array.from({ length: 3 }, () => requestFor(bindingFor(accountId)));
  const created = await Promise.all([checked, checked, checked, checked, ...others].map(create));
  const ids = new Set(created.slice(0, 4).map(({ task }) => task.id));
  assert.equal(ids.size, 1);
  assert.deepEqual(await balancesOf(accountId), ['0/100', '100/900']);
});

test('a create of the website that can’t be paid leaves its key and both balances alone', async () => {
  const accountId = await customer({ paid: 100, promotional: 100 });
  const checked = webRequest(accountId);
  const details = { required_credits: PRICE.credits };
  const refused = createTask(fixture.deps, checked);
  await assert.rejects(refused, { code: 'insufficient_credits', details });
  assert.deepEqual(await balancesOf(accountId), ['100/0', '100/0']);
  const keys = await sql(db, 'select from idempotency_keys where account_id = $1', [accountId]);
  assert.equal(keys.length, 0);
});

for (const phase of ['completed', 'failed'] as const) {
  test(`a ${phase} task of the website settles both kinds`, async () => {
    const accountId = await customer({ paid: PRICE.credits, promotional: 100 });
    const { id } = await webTask(accountId);
    await recordAccepted(db, id);
    let task = await claimTask(db, id);
    for (const to of ['submitting', 'generating', 'archiving'] as const) {
      task = await moveNow(db, task, { to });
    }
    const error = { code: 'provider_failed', message: 'No.' } as const;
    const changes = phase === 'completed' ? { outputObjectId: `obj_${id}` } : { error };
    await sql(
      db,
      `insert into stored_objects (id, owner_id, role, state, media_type, delete_after)
       values ('obj_' || $1, $1, 'output', 'deleted', 'video/mp4', clock_now())`,
      [id],
    );
    await moveNow(db, task, { to: phase, changes });
    const settled = { completed: ['0/0', '100/0'], failed: ['100/0', '250/0'] };
    assert.deepEqual(await balancesOf(accountId), settled[phase]);
  });
}
