import { after, before, test } from 'node:test';
import { proveOrdersOf } from '../../../server/test/clients/orders.ts';
import { type MediaFixture, openMediaFixture } from '../../../server/test/media/media-fixture.ts';

let fixture: MediaFixture;
before(async () => {
  fixture = await openMediaFixture();
});
after(() => fixture.close());

test('with faults and kills, each order is one task, one charge and one whole file', (t) =>
  proveOrdersOf(new URL('generate-many.ts', import.meta.url), { fixture, t }));
