import type { Page } from 'playwright-core';
import type { Result } from '../src/site-api.ts';
import { settled } from './site.ts';

const RECENT: Result<'GET /console/api/operator/providers'>['recent'] = [
  {
    provider: 'local',
    accepted: 4812,
    busy: 31,
    refused: 2,
    uncertain: 1,
    failed: 7,
    medians: [
      { model: 'video-2.0', seconds: 214 },
      { model: 'video-2.0-fast', seconds: 96 },
    ],
  },
  { provider: 'ark-eu', accepted: 0, busy: 0, refused: 12, uncertain: 0, failed: 0, medians: [] },
];

const COST = {
  currency: 'usd',
  tasks: 4812,
  seconds: 24_060,
  credits: 1_203_000,
  reported: 0,
  differing: 0,
};

const COSTS: Result<'GET /console/api/operator/costs'>['items'] = [
  { ...COST, group: 'ark-eu', cost: '1263.15', revenue: '12030', margin: '10766.85' },
  {
    ...COST,
    group: 'openrouter',
    tasks: 12,
    reported: 12,
    differing: 3,
    cost: '9.4521',
    revenue: '8',
    margin: '-1.4521',
  },
  { ...COST, group: 'local', currency: null, cost: null, revenue: null, margin: null },
];

/** Opens the list of providers, where each configured one refuses all submits, after a day. */
export async function openRefusing(page: Page): Promise<void> {
  const refusing = {
    state: 'refusing',
    since: new Date().toISOString(),
    reason: '401: the API key is not valid',
  } as const;
  await page.route('**/console/api/operator/providers', async (route) => {
    const response = await route.fetch();
    const { items, ...rest } =
      (await response.json()) as Result<'GET /console/api/operator/providers'>;
    const changed = items.map((item) => (item.is_configured ? { ...item, ...refusing } : item));
    await route.fulfill({ response, json: { ...rest, items: changed, recent: RECENT } });
  });
  await page.route('**/console/api/operator/costs', (route) =>
    route.fulfill({ json: { items: COSTS, next: null } }),
  );
  await page.goto('/operator/providers');
  await settled(page, 'Providers');
}
