import { useSiteInfo } from '../../site-info.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { Calculator } from './calculator.tsx';
import { Offers } from './offers.tsx';
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

/** What a video costs, in credits. */
export default function PricingPage() {
  const site = useSiteInfo();
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
        </div>
        <Load from={site} skeleton={<div class="blank h-[24.5rem]" />}>
          {({ prices }) => <Calculator prices={prices} />}
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
