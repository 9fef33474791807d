import type { About } from '../../../../server/src/site/about.ts';
import { Link } from '../../ui/button.tsx';
import { Credits, formatNumber, Money, pricePerThousand } from '../../ui/format.tsx';
import { SimulatedPayments } from '../../ui/simulated-payments.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Offer = About['packs'][number] & { paid: string };

/** What credits cost, as packs and plans; nothing where none are sold. */
export function Offers({ offers }: { offers: Pick<About, 'packs' | 'plans' | 'is_test'> }) {
  const { packs, plans, is_test: isTest } = offers;
  const rows: Offer[] = [
    ...packs.map((pack) => ({ ...pack, paid: 'once' })),
    ...plans.map((plan) => ({ ...plan, paid: `each ${plan.period}` })),
  ];
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="offers" class="mt-8">
      <h2 id="offers" class="text-heading">
        What credits cost
      </h2>
      <p class="mt-1.5 mb-5 max-w-[60ch] text-dim">
        You buy them on the page <Link href="/credits">Credits</Link> and pay at Stripe, the payment
        provider. They are spent on this website and through the API alike.
      </p>
      {isTest && <SimulatedPayments />}
      <Table
        caption="Packs and plans"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ id, paid }) => `${id} ${paid}`}
      />
    </section>
  );
}

const COLUMNS: Column<Offer>[] = [
  { title: 'Name', cell: ({ name }) => <span class="font-medium">{name}</span> },
  { title: 'Paid', cell: ({ paid }) => paid },
  { title: 'Expire', cell: ({ expires_days: days }) => expiryOf(days) },
  { title: 'Credits', kind: 'number', cell: ({ credits }) => <Credits value={credits} /> },
  {
    title: 'Price',
    kind: 'number',
    cell: ({ price, currency }) => <Money minor={price} currency={currency} />,
  },
  {
    title: `Price per ${formatNumber(1000)}`,
    kind: 'number',
    cell: (offer) => <Money minor={pricePerThousand(offer)} currency={offer.currency} />,
  },
];

function expiryOf(days: number | null): string {
  if (days === null) return 'never';
  return `after ${days} ${days === 1 ? 'day' : 'days'}`;
}
