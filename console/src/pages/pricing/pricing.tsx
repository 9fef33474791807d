import { useState } from 'preact/hooks';
import type { About } from '../../../../server/src/site/about.ts';
import { useLoad } from '../../load.ts';
import { rateOf, useSession } from '../../session.tsx';
import { SimulatedPayments } from '../../ui/badge.tsx';
import { ButtonLink, Link } from '../../ui/button.tsx';
import { Segments, Select } from '../../ui/form/controls.tsx';
import { Length } from '../../ui/form/length.tsx';
import {
  Credits,
  DateTime,
  expiryOf,
  formatNumber,
  Money,
  pricePerThousand,
  Worth,
} from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { type Column, column, numbers, prose, Table } from '../../ui/table.tsx';
import { RateTable } from './rate-table.tsx';

const RULES = [
  {
    title: 'Reserved, then charged',
    text: 'A request that is accepted reserves its whole price. It is charged when the finished file is stored for you.',
  },
  {
    title: 'A failure costs nothing',
    text: 'If a video fails, for whatever reason, all of its credits are refunded at once.',
  },
  {
    title: 'The price is fixed first',
    text: 'A request keeps the price that it was accepted with, even if prices change while it runs.',
  },
  {
    title: 'Sending again is free',
    text: 'The same request with the same Idempotency-Key is one video, and is charged once.',
  },
];

export default function PricingPage() {
  const site = useLoad('/console/api/site');
  return (
    <Page
      title="Prices"
      lead="Credits per second of video. The prices are the same on this website and through the API."
    >
      <div class="grid gap-x-16 grid-cols-[minmax(0,1fr)] gap-y-12 lg:grid-cols-[minmax(0,8fr)_minmax(0,5fr)]">
        <div class="grid grid-cols-[minmax(0,1fr)] content-start gap-12">
          <section aria-labelledby="standard">
            <h2 id="standard" class="mb-4 text-heading">
              From text and images
            </h2>
            <RateTable from={site} kind="standard" />
          </section>
          <section aria-labelledby="referenced">
            <h2 id="referenced" class="text-heading">
              With reference videos
            </h2>
            <p class="mt-1.5 mb-4 max-w-[60ch] text-dim">
              A lower rate, but the seconds of the reference videos count too.
            </p>
            <RateTable from={site} kind="referenced" />
          </section>
          {site.data && <Announced models={site.data.models} />}
        </div>
        <Load from={site} skeleton={<div class="blank h-[24.5rem]" />}>
          {(about) => <Calculator {...about} />}
        </Load>
      </div>
      <div class="ruler mt-14" />
      <ul class="grid gap-x-12 gap-y-8 pt-3 sm:grid-cols-2 lg:grid-cols-4">
        {RULES.map(({ title, text }) => (
          <li key={title}>
            <h2 class="font-semibold">{title}</h2>
            <p class="mt-1 text-dim">{text}</p>
          </li>
        ))}
      </ul>
      {site.data && <Offers offers={site.data} />}
      <p class="mt-6">
        <ButtonLink href="/playground" look="primary" icon="play">
          Try it in the playground
        </ButtonLink>
      </p>
    </Page>
  );
}

function Calculator({ prices, models, rate: packRate }: Pick<About, 'prices' | 'models' | 'rate'>) {
  const { state } = useSession();
  const [chosen, setModel] = useState('video-2.0-fast');
  const [wanted, setResolution] = useState('720p');
  const [length, setLength] = useState(5);
  const model = models.find(({ name }) => name === chosen) ?? models[0];
  const rates: CreditsPerSecond = prices.standard[model?.name ?? ''] ?? {};
  const resolutions = Object.keys(rates);
  const resolution = resolutions.includes(wanted) ? wanted : (resolutions[0] ?? '');
  const creditsPerSecond = rates[resolution] ?? 0;
  const durations = model?.durations ?? [];
  const seconds = durations.includes(length) ? length : (durations[0] ?? 0);
  return (
    <section aria-labelledby="calculator" class="self-start border border-edge bg-sheet p-6 sm:p-8">
      <h2 id="calculator" class="mb-6 text-heading">
        What one video costs
      </h2>
      <div class="grid gap-5">
        <Select
          label="Model"
          value={model?.name ?? ''}
          choices={models.map(({ name, title }) => ({ value: name, label: title }))}
          onChange={setModel}
        />
        <Segments
          label="Resolution"
          value={resolution}
          choices={resolutions}
          onChange={setResolution}
        />
        <Length value={seconds} durations={durations} onChange={setLength} />
      </div>

      <output class="mt-6 block border-t border-line pt-6" aria-live="polite">
        <span class="block text-[2.75rem] leading-none tracking-tight">
          <Credits value={seconds * creditsPerSecond} />
        </span>
        <span class="mt-2 block text-dim">
          credits: <span class="figures">{seconds}</span> s ×{' '}
          <span class="figures">{creditsPerSecond}</span>
        </span>
        <Worth credits={seconds * creditsPerSecond} rate={rateOf(state) ?? packRate} />
      </output>
    </section>
  );
}

type CreditsPerSecond = Record<string, number | undefined>;
type Model = About['models'][number];

/** Prices that take effect later. */
function Announced({ models }: { models: Model[] }) {
  const rows = models.flatMap(({ title, next_price: next }) => (next ? [{ title, ...next }] : []));
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="announced">
      <h2 id="announced" class="text-heading">
        Announced prices
      </h2>
      <p class="mt-1.5 mb-4 max-w-[60ch] text-dim">
        Requests that are accepted before that time keep today’s price.
      </p>
      <Table caption="Announced prices" columns={NEXT} rows={rows} keyOf={({ title }) => title} />
    </section>
  );
}

const ratesText = (rates: CreditsPerSecond) =>
  Object.entries(rates)
    .map(([resolution, rate]) => `${resolution}: ${rate}`)
    .join(', ') || '–';

const NEXT: Column<Pick<Model, 'title'> & NonNullable<Model['next_price']>>[] = [
  prose('Model', ({ title }) => <span class="font-medium">{title}</span>),
  column('From', ({ from }) => <DateTime at={from} />),
  prose('Credits per second', ({ standard }) => ratesText(standard)),
  prose('With reference videos', ({ referenced }) => ratesText(referenced)),
];

type Offer = About['packs'][number] & { paid: string };

function Offers({ offers }: { offers: Pick<About, 'packs' | 'plans' | 'is_test'> }) {
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
  column('Name', ({ name }) => <span class="font-medium">{name}</span>),
  column('Paid', ({ paid }) => paid),
  column('Expire', ({ expires_days: days }) => expiryOf(days)),
  numbers('Credits', ({ credits }) => <Credits value={credits} />),
  numbers('Price', ({ price, currency }) => <Money minor={price} currency={currency} />),
  numbers(`Price per ${formatNumber(1000)}`, (offer) => (
    <Money minor={pricePerThousand(offer)} currency={offer.currency} />
  )),
];
