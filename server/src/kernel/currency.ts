// The pages use this file too, so it imports nothing.

export interface MoneyUnits {
  /** How many of Stripe's units make one unit of the currency. */
  perWhole: 1 | 100 | 1000;
  /** Amounts must be divisible by this. */
  step: 1 | 10 | 100;
  decimals: 0 | 2 | 3;
}

const COMMON: MoneyUnits = { perWhole: 100, step: 1, decimals: 2 };

/**
 * The currencies that differ, from https://docs.stripe.com/currencies. Stripe follows neither ISO
 * 4217 nor Intl: it charges COP, IDR and PKR with two decimals, and also HUF and TWD, which it pays
 * out without decimals.
 */
const DIFFERENT: [string, MoneyUnits][] = [
  [
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf',
    { perWhole: 1, step: 1, decimals: 0 },
  ],
  // Without decimals, but counted as if they had two, which must be 00.
  ['isk ugx', { perWhole: 100, step: 100, decimals: 0 }],
  // The last of three decimals must be 0.
  ['bhd jod kwd omr tnd', { perWhole: 1000, step: 10, decimals: 3 }],
];

const UNITS = new Map(
  DIFFERENT.flatMap(([codes, units]) => codes.split(' ').map((code) => [code, units])),
);

/** @param currency three letters */
export function moneyUnits(currency: string): MoneyUnits {
  return UNITS.get(currency.toLowerCase()) ?? COMMON;
}

/** Formats an amount in Stripe's units, such as `HUF 1,990.00`. */
export function formatMoney(minor: number, currency: string): string {
  const { perWhole, decimals } = moneyUnits(currency);
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(minor / perWhole);
}
