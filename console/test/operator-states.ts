import type { Page } from 'playwright-core';
import type { Result } from '../src/site-api.ts';
import { settled } from './site.ts';

type Minute = Result<'GET /console/api/operator/figures'>['minutes'][number];

/** Minutes with a load that rises and falls; the last one ended just now. */
function minutesOf(count: number): Minute[] {
  const now = Math.floor(Date.now() / 60_000) * 60;
  return Array.from({ length: count }, (_, i) => {
    const load = 1 + Math.sin(i / 9);
    const busy = { responses: Math.round(900 * load), limited: Math.round(9 * load), errors: 0 };
    const times = {
      read_p50: 3 + load,
      read_p95: 9 + 4 * load,
      create_p95: i % 3 === 0 ? 40 : null,
    };
    const calls = { calls: Math.round(240 * load), failed_calls: i % 7 === 0 ? 2 : 0 };
    const tasks = { live: Math.round(60 * load), held: 2, due: Math.round(5 * load) };
    return { at: now - (count - 1 - i) * 60, ...busy, ...times, ...calls, ...tasks };
  });
}

/** Opens the operator's overview as after this many minutes of the process. */
export async function openOverview(page: Page, minutes: number): Promise<void> {
  await page.route('**/console/api/operator/figures', async (route) => {
    const response = await route.fetch();
    const { now } = (await response.json()) as Result<'GET /console/api/operator/figures'>;
    await route.fulfill({ response, json: { now, minutes: minutesOf(minutes) } });
  });
  await page.goto('/operator');
  await settled(page, 'Operator');
  await page.locator('.uplot').first().waitFor();
}

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
