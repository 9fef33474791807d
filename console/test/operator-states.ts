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

type Costs = Result<'GET /console/api/operator/costs'>['items'];

const COST = {
  currency: 'usd',
  tasks: 4812,
  seconds: 24_060,
  credits: 1_203_000,
  reported: 0,
  differing: 0,
  cost: '1263.15',
  revenue: '12030',
  margin: '10766.85',
  terms: '3 7',
  email: null,
};
const LOSS = { tasks: 12, reported: 12, differing: 3, cost: '9.4521', margin: '-1.4521' };
const UNKNOWN = { currency: null, cost: null, revenue: null, margin: null, terms: null };

/** Costs by what they are grouped by: much, a loss, and what is not known. */
const COSTS: Record<string, [much: string, loss: string, unknown: string]> = {
  day: ['2026-11-28', '2026-11-27', '2026-11-26'],
  model: [
    'video-2.0-fast',
    'a-model-with-a-very-long-name-of-sixty-three-characters-in-all-ok',
    'video-2.0',
  ],
  connection: ['ark-eu', 'openrouter', 'fal'],
  account: ['acc_1', 'acc_2', 'acc_3'],
};

function costsBy(per: string): Costs {
  const [much = '', loss = '', unknown = ''] = COSTS[per] ?? [];
  const rows = [
    { ...COST, group: much },
    { ...COST, ...LOSS, group: loss },
    { ...COST, ...UNKNOWN, group: unknown },
  ];
  return per === 'account'
    ? rows.map((row) => ({ ...row, email: `${row.group}@studio.example.com` }))
    : rows;
}

/** Opens invented costs by what they are grouped by, such as `Customer`. */
export async function openCosts(page: Page, by: string): Promise<void> {
  await page.route(/\/console\/api\/operator\/costs\?/, (route) => {
    const per = new URL(route.request().url()).searchParams.get('per') ?? '';
    return route.fulfill({ json: { items: costsBy(per), next: null } });
  });
  await page.goto('/operator');
  await page.getByRole('group', { name: 'By' }).getByText(by).click();
  await page
    .getByRole('table', { name: 'Costs' })
    .getByRole('columnheader', { name: by })
    .waitFor();
}

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
  await page.goto('/operator/providers');
  await settled(page, 'Providers');
}
