import { Button, ButtonLink } from '../../ui/button.tsx';
import { Credits } from '../../ui/format.tsx';
import type { LiveQuote } from './use-quote.ts';

/** What the video costs, what will be left, and the button. */
export function PriceBox({ live, isBusy }: { live: LiveQuote; isBusy: boolean }) {
  const { quote, isOld, error } = live;
  const all = quote ? quote.available.promotional + quote.available.paid : 0;
  const missing = quote ? quote.credits - all : 0;
  const isShort = quote !== undefined && !quote.is_affordable;
  return (
    <section aria-labelledby="price" class="border border-edge bg-sheet p-5 sm:p-6">
      <h2 id="price" class="text-sm text-dim">
        This video costs
      </h2>
      <output aria-live="polite" class={`block min-h-[6.5rem] ${isOld ? 'text-dim' : ''}`}>
        <span class="block text-[2.75rem] leading-[1.15] tracking-tight">
          {quote ? <Credits value={quote.credits} /> : '–'}
        </span>
        {quote && (
          <span class="mt-1 grid gap-0.5 text-sm text-dim">
            {quote.promotional > 0 && !isShort && (
              <span>
                <Credits value={quote.promotional} /> promotional,{' '}
                <span class="whitespace-nowrap">
                  <Credits value={quote.paid} /> paid
                </span>
              </span>
            )}
            <span>
              {isShort ? (
                <>
                  You have <Credits value={all} /> and need <Credits value={missing} /> more
                </>
              ) : (
                <>
                  You have <Credits value={all} />, <Credits value={all - quote.credits} /> will be
                  left
                </>
              )}
            </span>
          </span>
        )}
        {error && !quote && <span class="mt-1 block text-sm text-bad">{error.message}</span>}
      </output>
      <div class="mt-4 grid gap-2">
        {isShort ? (
          <ButtonLink look="primary" icon="coins" href="/credits">
            Add credits
          </ButtonLink>
        ) : (
          <Button look="primary" icon="play" type="submit" busy={isBusy}>
            {isBusy ? 'Sending' : 'Generate'}
          </Button>
        )}
        <p class="text-sm text-dim">If it fails, all credits are refunded.</p>
      </div>
    </section>
  );
}
