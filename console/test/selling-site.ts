import type { Page } from 'playwright-core';
import { setOffer } from '../../server/src/billing/offers.ts';
import { type SimulatedStripe, startSimulatedStripe } from '../../simulators/stripe/stripe.ts';
import { openSite, type Site } from './site.ts';

const SECRET = 'whsec_browser';

export interface SellingSite extends Site {
  simulator: SimulatedStripe;
}

/** A site with a simulated Stripe: the packs Small and Large, the plans Hobby and Studio. */
export async function openSellingSite(env: Record<string, string> = {}): Promise<SellingSite> {
  const simulator = await startSimulatedStripe();
  const site = await openSite({
    ...env,
    STRIPE_SECRET_KEY: 'sk_test_browser',
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_BASE_URL: simulator.url,
  });
  simulator.webhooks.to = { url: `${site.service.url}/webhooks/stripe`, secret: SECRET };
  const { db } = site.database;
  for (const [id, name, credits, price, expires_days] of [
    ['small', 'Small', 1000, 1000, null],
    ['large', 'Large', 6000, 5000, 365],
  ] as const) {
    const terms = { id, name, credits, price, currency: 'usd', expires_days };
    await setOffer(db, { ...terms, kind: 'pack', period: null });
  }
  for (const [id, name, credits, price] of [
    ['hobby', 'Hobby', 3000, 2000],
    ['studio', 'Studio', 12_000, 7000],
  ] as const) {
    const terms = { id, name, credits, price, currency: 'usd', expires_days: 62 };
    await setOffer(db, { ...terms, kind: 'plan', period: 'month' });
  }
  return {
    ...site,
    simulator,
    async close() {
      await site.close();
      await simulator.close();
    },
  };
}

/** An order that nobody has paid. */
export async function orderOf(page: Page, origin: string): Promise<string> {
  const order = { headers: { origin }, data: { pack_id: 'large' } };
  const made = await page.request.post('/console/api/orders', order);
  return (await made.json()).order_id;
}
