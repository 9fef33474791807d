import { useEffect, useRef, useState } from 'preact/hooks';
import type { FormRules, Quote } from '../../../../server/src/site/playground/prices.ts';
import { type ApiFailure, api } from '../../api.ts';
import { useLoad, useRead } from '../../load.ts';
import { rateOf, useMode, useSession } from '../../session.tsx';
import { EnterTestMode, RefillButton } from '../../shell/test-mode.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { INPUT, Problem } from '../../ui/form/field.tsx';
import { Credits, Worth } from '../../ui/format.tsx';
import { AskForCredits } from '../../ui/support.tsx';
import { type Form, mediaOf } from './form-model.ts';

const DEBOUNCE_MS = 150;

function useDebounced(value: string): string {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}

/** Shows the previous price until the service has the new one, also after `balance` changes. */
export function useQuote(form: Form, count: number, prices: FormRules, balance: number) {
  const mode = useMode();
  const videos = new Map(mediaOf(form, prices)).get('reference_video_urls') ?? [];
  const { model, resolution, duration } = form;
  const seconds = videos.map((video) => video.seconds);
  const priced = { model, resolution, duration, reference_video_durations: seconds };
  const text = JSON.stringify(count > 1 ? { ...priced, count } : priced);
  const debounced = useDebounced(text);
  const ask = (body: string, signal?: AbortSignal) =>
    api('POST /console/api/price', {
      query: { mode },
      body: JSON.parse(body),
      ...(signal && { signal }),
    });
  const { data, error } = useRead(`${mode} ${balance} ${debounced}`, (signal) =>
    ask(debounced, signal),
  );
  const last = useRef<Quote | undefined>(undefined);
  if (data || error) last.current = data;
  const isStale = debounced !== text || !(data || error); // the form has changed meanwhile
  /** Whether the balance still pays for all videos: another window may have spent credits. */
  const isPayable = async () => (await ask(text)).is_affordable;
  return { quote: last.current, error, isStale, isPayable };
}

interface PriceProps {
  price: Omit<ReturnType<typeof useQuote>, 'isPayable'>;
  count: number;
  /** How the seeds of several videos differ. */
  seeds: string;
  /** Why nothing was sent. */
  failure: ApiFailure | undefined;
  isBusy: boolean;
  isUploading: boolean;
  onCount: (count: number) => void;
}

const MAX_COUNT = 4;
const COUNTS = Array.from({ length: MAX_COUNT }, (_, i) => i + 1);

/** Sticks to the lower edge, on a phone above the navigation. */
const BAR =
  'sticks sticky bottom-[calc(3.65rem+env(safe-area-inset-bottom))] z-20 order-last -mx-4 border-y border-edge bg-sheet px-4 py-3 sm:-mx-8 sm:px-8 md:bottom-0 lg:mx-0 lg:border lg:px-7 lg:py-4';

export function PriceBox(props: PriceProps) {
  const { price, count, seeds, failure, isBusy, isUploading, onCount } = props;
  const { quote, isStale, error } = price;
  const { state } = useSession();
  const isTooExpensive = quote?.is_affordable === false;
  return (
    <section aria-labelledby="price" class={BAR}>
      <div class="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div
          class={`grid grid-cols-[auto_minmax(0,1fr)] items-end gap-x-4 ${isTooExpensive ? 'basis-full' : 'flex-1 lg:flex-none lg:basis-full'}`}
        >
          <h2 id="price" class="col-span-2 text-sm text-dim max-sm:sr-only">
            {count === 1 ? 'This video costs' : `These ${count} videos cost`}
          </h2>
          <output aria-live="polite" class={`contents ${isStale ? 'text-dim' : ''}`}>
            <span class="text-2xl leading-[1.15] tracking-tight">
              {quote ? <Credits value={quote.credits} /> : '–'}
              <span class="block text-sm tracking-normal text-dim sm:sr-only">credits</span>
            </span>
            {quote && <Payment quote={quote} />}
            {error && !quote && <span class="text-sm text-bad">{error.message}</span>}
          </output>
        </div>
        <Count value={count} onChange={onCount} />
        {isTooExpensive ? (
          <TooFewCredits isTest={'test' in quote.available} />
        ) : (
          <span class="grid lg:flex-1">
            <Button look="primary" icon="play" type="submit" busy={isBusy || isUploading}>
              {isBusy ? 'Sending' : isUploading ? 'Uploading' : 'Generate'}
            </Button>
          </span>
        )}
        <p class="basis-full text-sm text-dim">
          {quote && rateOf(state) && (
            <>
              <Worth credits={quote.credits} rate={rateOf(state)} />.{' '}
            </>
          )}
          {count > 1 && `${seeds} All are sent, or none. `}
          {!isTooExpensive && (
            <span class="max-lg:hidden">
              If it fails, all credits are refunded. Press ? for the keyboard shortcuts.
            </span>
          )}
        </p>
        <Problem>{failure?.message}</Problem>
      </div>
    </section>
  );
}

function Count({ value, onChange }: { value: number; onChange: (count: number) => void }) {
  return (
    <select
      aria-label="How many videos"
      value={value}
      onChange={(event) => onChange(Number(event.currentTarget.value))}
      class={`${INPUT} h-[2.625rem] max-w-27 px-2`}
    >
      {COUNTS.map((count) => (
        <option key={count} value={count}>
          {count === 1 ? '1 video' : `${count} videos`}
        </option>
      ))}
    </select>
  );
}

function TooFewCredits({ isTest }: { isTest: boolean }) {
  const { data } = useLoad('/console/api/site');
  if (isTest) return <RefillButton />;
  return (
    <>
      {data?.billing === false ? (
        <p class="order-first basis-full text-sm break-words">
          No credits are sold here. <AskForCredits />
        </p>
      ) : (
        <ButtonLink look="primary" icon="coins" href="/credits">
          Add credits
        </ButtonLink>
      )}
      <EnterTestMode />
      <p class="basis-full text-sm text-dim max-lg:hidden">
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
    <span class={`grid text-sm text-dim ${isAffordable ? 'max-sm:hidden' : ''}`}>
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
