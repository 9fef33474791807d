import { useState } from 'preact/hooks';
import { formatMoney } from '../../../server/src/kernel/currency.ts';
import type { OnSale } from '../../../server/src/site/billing/credits.ts';
import { useEvery } from '../load.ts';

const NUMBERS = new Intl.NumberFormat('en-US');

/** A whole number with thin spaces between groups, such as `10 000`. */
export function formatNumber(value: number): string {
  return NUMBERS.format(value).replaceAll(',', '\u2009');
}

/** `expires_at` becomes "Expires at". */
export function labelOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ').replace(/ url$/, ' URL')}`;
}

interface CreditsProps {
  value: number;
  signed?: boolean;
  unit?: boolean;
}

/** An amount of credits. `signed` shows a plus or a minus, for movements. */
export function Credits({ value, signed = false, unit = false }: CreditsProps) {
  const sign = value < 0 ? '\u2212' : signed && value > 0 ? '+' : '';
  return (
    <span class="whitespace-nowrap">
      <span class="figures">
        {sign}
        {formatNumber(Math.abs(value))}
      </span>
      {unit && (value === 1 ? ' credit' : ' credits')}
    </span>
  );
}

/** An amount of money, in Stripe's minor units. */
export function Money({ minor, currency }: { minor: number; currency: string }) {
  return <span class="figures whitespace-nowrap">{formatMoney(minor, currency)}</span>;
}

/** About what the credits cost, and in which offer; nothing if none are sold. */
export function Worth({ credits, rate }: { credits: number; rate: OnSale['rate'] }) {
  if (rate === null) return null;
  const minor = Math.max(1, Math.round((credits * rate.price) / rate.credits));
  return (
    <span class="text-sm text-dim">
      ≈ <Money minor={minor} currency={rate.currency} /> {rate.by}
    </span>
  );
}

/** The price of 1000 credits in Stripe's minor units, to compare offers. */
export function pricePerThousand({ price, credits }: { price: number; credits: number }): number {
  return Math.round((price * 1000) / credits);
}

/** When purchased credits expire: `never`, or `after 30 days`. */
export function expiryOf(days: number | null): string {
  if (days === null) return 'never';
  return `after ${days} ${days === 1 ? 'day' : 'days'}`;
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const TO_THE_SECOND = { dateStyle: 'medium', timeStyle: 'medium' } as const;
const ABSOLUTE = new Intl.DateTimeFormat('en-GB', TO_THE_SECOND);
const ABSOLUTE_UTC = new Intl.DateTimeFormat('en-GB', { ...TO_THE_SECOND, timeZone: 'UTC' });
const DAY_ONLY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

export function formatDay(at: string): string {
  return DAY_ONLY.format(new Date(at));
}

/** The day this many days after another one, both as `2026-11-29`. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * 86_400_000).toISOString().slice(0, 10);
}

const REFRESH_SECONDS = 30;

/** Such as `3 minutes ago`; the date if more than 30 days away. */
export function RelativeTime({ at, otherwise = '–' }: { at: string | null; otherwise?: string }) {
  const [now, setNow] = useState(Date.now());
  useEvery(REFRESH_SECONDS * 1000, () => setNow(Date.now()));
  if (at === null) return <span class="text-dim">{otherwise}</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={ABSOLUTE.format(date)} class="whitespace-nowrap">
      {relative(date, now)}
    </time>
  );
}

function relative(date: Date, now: number): string {
  const seconds = (date.getTime() - now) / 1000;
  if (Math.abs(seconds) > 30 * 86_400) return DAY_ONLY.format(date);
  const step = STEPS.find(([, size]) => Math.abs(seconds) >= size);
  if (!step) return seconds > 0 ? 'in a moment' : 'just now';
  return RELATIVE.format(Math.trunc(seconds / step[1]), step[0]);
}

/** A time to the second, in the user's time zone; in UTC on pages that filter by day. */
export function DateTime({ at, utc = false }: { at: string; utc?: boolean }) {
  return (
    <time dateTime={at} class="figures whitespace-nowrap">
      {(utc ? ABSOLUTE_UTC : ABSOLUTE).format(new Date(at))}
    </time>
  );
}
