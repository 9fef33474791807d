import { after, test } from 'node:test';
import { proveOrdersOf } from '../../../server/test/clients/orders.ts';
import { openMediaFixture } from '../../../server/test/media/media-fixture.ts';

const fixture = await openMediaFixture();
after(() => fixture.close());

test('with faults and kills, each order is one task, one charge and one whole file', (t) =>
  proveOrdersOf(new URL('generate-many.ts', import.meta.url), { fixture, t }));
