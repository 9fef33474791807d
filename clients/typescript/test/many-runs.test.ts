import { after, before, test } from 'node:test';
import { type Orders, proveOrders } from '../../../server/test/clients/orders.ts';
import { type MediaFixture, openMediaFixture } from '../../../server/test/media/media-fixture.ts';

const PROGRAM = new URL('generate-many.ts', import.meta.url).pathname;
const PROCESSES = 2;

let fixture: MediaFixture;
before(async () => {
  fixture = await openMediaFixture();
});
after(() => fixture.close());

function generateMany({ folder, first, last }: Orders) {
  return { command: process.execPath, args: [PROGRAM, folder, `${first}`, `${last}`] };
}

test('with faults and kills, each order is one task, one charge and one whole file', async (t) => {
  await proveOrders(
    fixture,
    t,
    Array.from({ length: PROCESSES }, () => generateMany),
  );
});
