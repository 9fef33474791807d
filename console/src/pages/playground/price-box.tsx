import { useEffect, useRef, useState } from 'preact/hooks';
import type { Prices, Quote } from '../../../../server/src/site/playground/prices.ts';
import { api } from '../../api.ts';
import { useLoad, useRead } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { EnterTestMode, RefillButton } from '../../shell/test-mode.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Credits } from '../../ui/format.tsx';
import { type Form, mediaOf } from './form-model.ts';

const PAUSE_MS = 150;

function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}

/** Shows the previous price until the service has the new one, also after `balance` changes. */
export function useQuote(form: Form, prices: Prices, balance: number) {
  const mode = useMode();
  const videos = new Map(mediaOf(form, prices)).get('reference_video_urls') ?? [];
  const { model, resolution, duration } = form;
  const seconds = videos.map((video) => video.seconds);
  const text = JSON.stringify({ model, resolution, duration, reference_video_durations: seconds });
  const asked = usePaused(text);
  const { data, error } = useRead(`${mode} ${balance} ${asked}`, (signal) =>
    api('POST /console/api/price', { query: { mode }, body: JSON.parse(asked), signal }),
  );
  const last = useRef<Quote | undefined>(undefined);
  if (data || error) last.current = data;
  const isOld = asked !== text || !(data || error); // the form has changed since
  return { quote: last.current, error, isOld };
}

type PriceProps = { price: ReturnType<typeof useQuote>; isBusy: boolean };

/** Sticks to the lower edge: on a phone above the navigation, and over the whole page. */
const BAR =
  'sticks sticky bottom-[calc(3.65rem+env(safe-area-inset-bottom))] z-20 order-last -mx-4 border-y border-edge bg-sheet px-4 py-3 sm:-mx-8 sm:px-8 md:bottom-0 lg:mx-0 lg:border lg:px-7 lg:py-5';

export function PriceBox({ price: { quote, isOld, error }, isBusy }: PriceProps) {
  const isLacking = quote?.is_affordable === false;
  return (
    <section aria-labelledby="price" class={BAR}>
      <div class="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 lg:grid lg:gap-4">
        <div>
          <h2 id="price" class="text-sm text-dim">
            This video costs
          </h2>
          <output aria-live="polite" class={`block lg:min-h-[4.5rem] ${isOld ? 'text-dim' : ''}`}>
            <span class="block text-2xl leading-[1.15] tracking-tight lg:text-[2.75rem]">
              {quote ? <Credits value={quote.credits} /> : '–'}
            </span>
            {quote && <Payment quote={quote} />}
            {error && !quote && <span class="mt-1 block text-sm text-bad">{error.message}</span>}
          </output>
        </div>
        {isLacking ? (
          <Lacking isTest={'test' in quote.available} />
        ) : (
          <Button look="primary" icon="play" type="submit" busy={isBusy}>
            {isBusy ? 'Sending' : 'Generate'}
          </Button>
        )}
        {!isLacking && (
          <p class="text-sm text-dim max-lg:hidden">
            If it fails, all credits are refunded. Ctrl or ⌘ with Enter generates.
          </p>
        )}
      </div>
    </section>
  );
}

function Lacking({ isTest }: { isTest: boolean }) {
  const { data } = useLoad('/console/api/site');
  if (isTest) return <RefillButton />;
  return (
    <>
      {data?.billing === false ? (
        <p class="order-first w-full text-sm lg:order-none lg:text-base">
          No credits are sold here. Ask the operator of this service for some.
        </p>
      ) : (
        <ButtonLink look="primary" icon="coins" href="/credits">
          Add credits
        </ButtonLink>
      )}
      <EnterTestMode />
      <p class="text-sm text-dim max-lg:hidden">
        Test mode costs nothing: it makes a small sample video.
      </p>
    </>
  );
}

function Payment({ quote }: { quote: Quote }) {
  const { credits, promotional, paid, is_affordable: isAffordable, available } = quote;
  const isTest = 'test' in available;
  const all = isTest ? available.test : available.promotional + available.paid;
  const unit = isTest ? ' test credits' : '';
  return (
    <span class={`mt-1 grid gap-0.5 text-sm text-dim ${isAffordable ? 'max-sm:hidden' : ''}`}>
      {promotional > 0 && isAffordable && (
        <span>
          <Credits value={promotional} /> promotional,{' '}
          <span class="whitespace-nowrap">
            <Credits value={paid} /> paid
          </span>
        </span>
      )}
      <span>
        You have <Credits value={all} />
        {unit}
        {isAffordable ? ', ' : ' and need '}
        <Credits value={Math.abs(all - credits)} />
        {isAffordable ? ' will be left' : ' more'}
      </span>
    </span>
  );
}
