import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { createTestDatabase } from '../../test/database.ts';
import { saveCustomer } from './customers.ts';

const scope = { mode: 'test', account: 'acct_1' } as const;

test('a customer that several purchases save at once is saved, and the first one stays', async (t) => {
  const { db, close } = await createTestDatabase();
  t.after(close);
  for (let round = 0; round < 60; round += 1) {
    const { accountId } = await makeCustomer(db, 0);
    const id = `cus_${round}`;
    const saved = await Promise.all(
      Array.from({ length: 12 }, () => saveCustomer(db, accountId, { customer: id, scope })),
    );
    assert.deepEqual([...new Set(saved)], [id]);
    assert.equal(await saveCustomer(db, accountId, { customer: 'cus_other', scope }), id);
  }
});
