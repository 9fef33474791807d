import type { ComponentChildren } from 'preact';
import type { Credits as CreditsOf } from '../../../../server/src/site/billing/credits.ts';
import { Figure } from '../../ui/card.tsx';
import { Credits, DateTime } from '../../ui/format.tsx';

/** What the account has, and what each number means. */
export function Balance({ credits }: { credits: CreditsOf }) {
  const { paid, promotional, expiring } = credits;
  const reserved = paid.reserved + promotional.reserved;
  const owed = paid.owed + promotional.owed;
  return (
    <section aria-label="Balance" class="grid gap-6">
      <div class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
        <Part name="Paid" value={paid.available} note="For the API and this website." />
        <Part
          name="Promotional"
          value={promotional.available}
          note="For this website only, and used first."
        />
        <Part
          name="Reserved"
          value={reserved}
          note="For videos that are being made. Refunded if one fails."
        />
        {owed > 0 && (
          <Part
            name="Owed"
            value={owed}
            note="Credits of a refunded or disputed payment that you had already used. Your next purchase pays them first."
          />
        )}
      </div>
      {expiring.length > 0 && <Expiring lots={expiring} />}
    </section>
  );
}

function Part({ name, value, note }: { name: string; value: number; note: ComponentChildren }) {
  return (
    <Figure name={name} note={note}>
      <Credits value={value} />
    </Figure>
  );
}

const SHOWN = 3;

function Expiring({ lots }: { lots: CreditsOf['expiring'] }) {
  const rest = lots.slice(SHOWN).reduce((sum, { credits }) => sum + credits, 0);
  return (
    <ul class="grid gap-1 text-dim">
      {lots.slice(0, SHOWN).map(({ kind, credits, expires_at }) => (
        <li key={`${kind}${expires_at}`}>
          <Credits value={credits} /> {kind} credits expire on <DateTime at={expires_at} />.
        </li>
      ))}
      {rest > 0 && (
        <li>
          <Credits value={rest} unit /> more expire later.
        </li>
      )}
    </ul>
  );
}

export function BlankBalance() {
  return (
    <div class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
      {[1, 2, 3].map((part) => (
        <div key={part} class="blank h-24" />
      ))}
    </div>
  );
}
