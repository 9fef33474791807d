import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMoney, moneyUnits } from './currency.ts';

/** What Stripe charges for an amount, by the examples of https://docs.stripe.com/currencies. */
const CHARGED: [number, string, string][] = [
  [1000, 'usd', '$10.00'],
  [10, 'jpy', '¥10'],
  [500, 'JPY', '¥500'],
  [500, 'isk', 'ISK 5'],
  [500, 'ugx', 'UGX 5'],
  [5120, 'kwd', 'KWD 5.120'],
  [1045, 'huf', 'HUF 10.45'],
  [80_045, 'twd', 'NT$800.45'],
  [1_500_000, 'idr', 'IDR 15,000.00'],
  [199_000, 'cop', 'COP 1,990.00'],
  [50_000, 'pkr', 'PKR 500.00'],
  [990, 'mga', 'MGA 990'],
];

test('an amount is shown as Stripe charges it', () => {
  const shown = CHARGED.map(([minor, currency]) => formatMoney(minor, currency));
  assert.deepEqual(
    shown.map((text) => text.replace('\u00a0', ' ')),
    CHARGED.map(([, , text]) => text),
  );
});

test('the least amounts that Stripe takes are amounts that people see', () => {
  for (const [, currency] of CHARGED) {
    const { step, perWhole, decimals } = moneyUnits(currency);
    assert.notEqual(formatMoney(step, currency), formatMoney(0, currency), currency);
    assert.ok(step / perWhole >= 10 ** -decimals, currency);
  }
});
