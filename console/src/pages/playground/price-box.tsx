import type { Quote } from '../../../../server/src/site/playground/prices.ts';
import { useLoad } from '../../load.ts';
import { EnterTestMode, RefillButton } from '../../shell/test-mode.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Credits } from '../../ui/format.tsx';
import type { LiveQuote } from './use-quote.ts';

/** What the video costs, what will be left, and the button. */
export function PriceBox({ live, isBusy }: { live: LiveQuote; isBusy: boolean }) {
  const { quote, isOld, error } = live;
  return (
    <section aria-labelledby="price" class="border border-edge bg-sheet p-5 sm:p-6">
      <h2 id="price" class="text-sm text-dim">
        This video costs
      </h2>
      <output aria-live="polite" class={`block min-h-[6.5rem] ${isOld ? 'text-dim' : ''}`}>
        <span class="block text-[2.75rem] leading-[1.15] tracking-tight">
          {quote ? <Credits value={quote.credits} /> : '–'}
        </span>
        {quote && <Payment quote={quote} />}
        {error && !quote && <span class="mt-1 block text-sm text-bad">{error.message}</span>}
      </output>
      <div class="mt-4 grid gap-2">
        {quote?.is_affordable === false ? (
          'test' in quote.available ? (
            <RefillButton />
          ) : (
            <Short />
          )
        ) : (
          <>
            <Button look="primary" icon="play" type="submit" busy={isBusy}>
              {isBusy ? 'Sending' : 'Generate'}
            </Button>
            <p class="text-sm text-dim">If it fails, all credits are refunded.</p>
          </>
        )}
      </div>
    </section>
  );
}

/** The ways on of somebody without enough credits. */
function Short() {
  const { data } = useLoad('/console/api/site');
  return (
    <>
      {data?.billing === false ? (
        <p class="mb-2">No credits are sold here. Ask the operator of this service for some.</p>
      ) : (
        <ButtonLink look="primary" icon="coins" href="/credits">
          Add credits
        </ButtonLink>
      )}
      <EnterTestMode />
      <p class="text-sm text-dim">Test mode costs nothing: it makes a small sample video.</p>
    </>
  );
}

/** How it is paid, and what is left or missing. */
function Payment({ quote }: { quote: Quote }) {
  const { credits, promotional, paid, is_affordable: isAffordable, available } = quote;
  const isTest = 'test' in available;
  const all = isTest ? available.test : available.promotional + available.paid;
  const unit = isTest ? ' test credits' : '';
  return (
    <span class="mt-1 grid gap-0.5 text-sm text-dim">
      {promotional > 0 && isAffordable && (
        <span>
          <Credits value={promotional} /> promotional,{' '}
          <span class="whitespace-nowrap">
            <Credits value={paid} /> paid
          </span>
        </span>
      )}
      <span>
        {isAffordable ? (
          <>
            You have <Credits value={all} />
            {unit}, <Credits value={all - credits} /> will be left
          </>
        ) : (
          <>
            You have <Credits value={all} />
            {unit} and need <Credits value={credits - all} /> more
          </>
        )}
      </span>
    </span>
  );
}
