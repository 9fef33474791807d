import { after } from 'node:test';
import { type SimulatedStripe, startSimulatedStripe } from '../../../simulators/stripe/stripe.ts';
import { type Offer, setOffer } from '../../src/billing/offers.ts';
import { openStripe, scopeOfKey } from '../../src/billing/stripe-client.ts';
import { quiet } from '../database.ts';
import { ORIGIN, openTestWebsite, type TestWebsite } from './website.ts';

/** A pack of 1000 credits for 10.00. */
export const PACK: Omit<Offer, 'active'> = {
  id: 'small',
  kind: 'pack',
  name: 'Small',
  credits: 1000,
  price: 1000,
  currency: 'usd',
  period: null,
  expires_days: null,
};

export interface SellingWebsite extends TestWebsite {
  simulator: SimulatedStripe;
}

/** Builds the app with the website, a simulated Stripe and the pack. */
export async function openSellingWebsite(): Promise<SellingWebsite> {
  const simulator = await startSimulatedStripe();
  after(() => simulator.close());
  const settings = { secretKey: 'sk_test_1', webhookSecret: 'whsec_1', baseUrl: simulator.url };
  const { webhookSecret } = settings;
  const scope = scopeOfKey(settings.secretKey);
  const website = await openTestWebsite(async (db) => {
    const stripe = await openStripe(settings, 0);
    return { billing: { db, log: quiet, stripe, scope, publicUrl: () => ORIGIN, webhookSecret } };
  });
  await setOffer(website.database.db, PACK);
  return { ...website, simulator };
}
