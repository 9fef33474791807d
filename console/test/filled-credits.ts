import type { Page } from 'playwright-core';
import { completeSession } from '../../simulators/stripe/checkout.ts';
import { cardOf, refund } from '../../simulators/stripe/payments.ts';
import { renew } from '../../simulators/stripe/subscriptions.ts';
import type { SellingSite } from './selling-site.ts';
import { settled } from './site.ts';

/** A purchase, a part refund, and a subscription whose renewal has failed. */
export async function fillCredits(page: Page, site: SellingSite): Promise<void> {
  const { state } = site.simulator;
  const headers = { origin: site.url };
  const open = async (path: string, data: object) => {
    const response = await page.request.post(`${site.url}/console/api/${path}`, { headers, data });
    const { url, order_id: order } = await response.json();
    const session = completeSession(state, String(url).split('/').at(-1) ?? '', 'now');
    return { session, order: String(order) };
  };
  const pack = await open('orders', { pack_id: 'large' });
  refund(state, pack.session.payment_intent ?? '', 900);
  const plan = await open('subscription', { plan_id: 'hobby' });
  await page.request.post(`${site.url}/console/api/subscription/settle`, { headers });
  const card = cardOf(state, plan.session.customer);
  if (card) card.declines = true;
  renew(state, plan.session.subscription ?? '');
  await page.request.post(`${site.url}/console/api/subscription/settle`, { headers });
  const reload = { pack_id: 'small', below: 500, monthly_limit: 3000 };
  await page.request.put(`${site.url}/console/api/auto-reload`, {
    headers,
    data: { auto_reload: reload },
  });
  await page.goto(`/credits?order=${pack.order}`);
  await page.getByText('were added to your balance').waitFor();
  await settled(page);
}
