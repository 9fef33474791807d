import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../../test/customer.ts';
import { freezeClock } from '../../../test/frozen-clock.ts';
import { requestOf } from '../../../test/requests.ts';
import {
  bindingFor,
  createTask,
  openTaskFixture,
  PRICE,
  recordAccepted,
  requestFor,
  sql,
} from '../../../test/task-fixtures.ts';
import { parseCommandLine } from '../../cli/command-line.ts';
import { listTerms } from '../../routing/terms.ts';
import type { Costs } from '../listings/costs.ts';
import { readFigures } from '../listings/figures.ts';
import { RowStream } from '../verb/verb.ts';

const fixture = await openTaskFixture();
const { db } = fixture;

async function run(line: string, ...args: string[]): Promise<object> {
  const parsed = await parseCommandLine([...line.split(' '), ...args]);
  return Object(await parsed.run({ db }));
}

const setTerms = (line: string) => run(`terms set ${line}`, '--reason', 'invoice 7');

async function listCosts(options: string): Promise<Costs[]> {
  const result = await run(`costs list ${options}`);
  assert.ok(result instanceof RowStream);
  return (await Array.fromAsync(result.content.rows)) as Costs[];
}

interface Ended {
  provider: string;
  phase?: 'completed' | 'failed';
  request?: object;
  billed?: boolean;
  cost?: [amount: string, currency: string];
  computed?: number;
  promotional?: number;
  surface?: string;
  createdAt?: string;
}

const { accountId } = await makeCustomer(db, 100_000);

/** An ended task of 5 s and 250 credits. @returns its id */
async function makeEnded(ended: Ended): Promise<string> {
  const { provider, phase = 'completed', billed = null, cost = [null, null] } = ended;
  const { promotional = 0, surface = 'api', createdAt = '2026-03-01T12:00:00Z' } = ended;
  const { computed = null } = ended;
  const request = requestOf({ prompt: 'A lighthouse', ...ended.request });
  const checked = requestFor(bindingFor(accountId), request, PRICE, provider);
  const { task } = await createTask(fixture.deps, checked);
  await recordAccepted(db, task.id);
  await sql(db, 'update attempts set created_at = $2 where task_id = $1', [task.id, createdAt]);
  await sql(
    db,
    `update tasks set phase = $2, due_at = null, provider_billed = $3, job_cost = $4::numeric,
       job_cost_currency = $5, promotional_credits = $6, surface = $7, created_at = $8,
       job_compute_seconds = $9,
       output_object_id = case when $2 = 'completed' then 'obj_' || id end,
       error_code = case when $2 = 'failed' then 'provider_failed' end
     where id = $1`,
    [task.id, phase, billed, ...cost, promotional, surface, createdAt, computed],
  );
  return task.id;
}

const REFERENCES = {
  mode: 'media-to-video',
  reference_video_urls: ['https://example.com/a.mp4'],
  reference_video_durations: [3],
};

/** The ended tasks of each connection, and what they cost and earn at 0.01 a credit. */
const CASES: Record<string, [Ended[], Partial<Costs>]> = {
  'by-terms': [
    [{ provider: 'by-terms' }, { provider: 'by-terms', promotional: 100 }],
    { tasks: 2, seconds: 10, credits: 500, cost: '1', revenue: '4', margin: '3' },
  ],
  'with-references': [
    [{ provider: 'with-references', request: REFERENCES }],
    { seconds: 5, cost: '0.4', revenue: '2.5', margin: '2.1' },
  ],
  failed: [
    [
      { provider: 'failed', phase: 'failed', billed: true },
      { provider: 'failed', phase: 'failed', billed: false },
      { provider: 'failed', phase: 'failed' },
    ],
    { tasks: 3, seconds: 0, credits: 0, cost: '0.5', revenue: '0', margin: '-0.5' },
  ],
  reported: [
    [
      { provider: 'reported', cost: ['0.55', 'usd'] },
      { provider: 'reported', cost: ['0.5500000000001', 'usd'] },
      { provider: 'reported', cost: ['0.44', 'usd'] },
      { provider: 'reported', phase: 'failed', cost: ['0.1', 'usd'] },
    ],
    { tasks: 4, cost: '1.6400000000001', reported: 4, differing: 2 },
  ],
  'in-euros': [
    [{ provider: 'in-euros', cost: ['3', 'eur'] }],
    { currency: 'eur', cost: '3', reported: 1, differing: 0, revenue: null, margin: null },
  ],
  'by-time': [
    [
      { provider: 'by-time', computed: 20.25 },
      { provider: 'by-time', phase: 'failed', billed: true, computed: 3 },
      { provider: 'by-time', phase: 'failed', billed: false, computed: 9 },
      { provider: 'by-time', phase: 'failed' },
    ],
    { tasks: 4, seconds: 5, cost: '2.325', reported: 3, differing: 0, margin: '0.175' },
  ],
  'by-time-unreported': [
    [
      { provider: 'by-time-unreported' },
      { provider: 'by-time-unreported', phase: 'failed', billed: true },
    ],
    { currency: null, tasks: 2, credits: 250, cost: null, reported: 0, margin: null },
  ],
  unknown: [
    [{ provider: 'unknown' }],
    { currency: null, credits: 250, cost: null, reported: 0, margin: null, terms: null },
  ],
};

test('a task costs what its provider reported, or what the terms say', async () => {
  for (const [connection, [tasks]] of Object.entries(CASES)) {
    if (connection !== 'unknown') {
      await sql(
        db,
        `insert into terms (connection, model, resolution, per, price, reference_price, currency,
           holds_from) values ($1, 'video-2.0-fast', '720p', $2, 0.1, 0.05, 'usd', '2026-01-01Z')`,
        [connection, connection.startsWith('by-time') ? 'compute-second' : 'output-second'],
      );
    }
    for (const task of tasks) await makeEnded(task);
  }
  await makeEnded({ provider: 'scripted', surface: 'test' });
  const period = '--from 2026-03-01T00:00:00Z --until 2026-03-02T00:00:00Z';
  const rows = await listCosts(`--per connection --credit-price usd=0.01 ${period}`);
  assert.deepEqual(rows.map(({ group }) => group).sort(), Object.keys(CASES).sort());
  for (const [connection, [, wanted]] of Object.entries(CASES)) {
    const row = rows.find(({ group }) => group === connection);
    assert.deepEqual({ ...row, ...wanted }, row, connection);
  }
  const groups = { day: '2026-03-01', model: 'video-2.0-fast', account: accountId };
  for (const [by, group] of Object.entries(groups)) {
    const listed = await listCosts(`--per ${by} ${period}`);
    const shown = listed.map((row) => `${row.group} ${row.currency} ${row.tasks}`);
    assert.deepEqual(shown.sort(), [`${group} eur 1`, `${group} null 3`, `${group} usd 14`]);
  }
  assert.deepEqual(await listCosts('--per day'), [], 'none is of the last 30 days');
});

test('a credit is worth what it was sold for on average, in the currency of the cost', async () => {
  const insert = `insert into offers (id, kind, name, credits, price, currency)
    values ('pack', 'pack', 'Pack', 1000, 990, 'usd')`;
  await sql(db, insert);
  for (const [state, credits, price] of [
    ['paid', 1000, 990],
    ['paid', 3000, 2210],
    ['pending', 1000, 1],
  ]) {
    await sql(
      db,
      `insert into orders (id, account_id, kind, offer_id, credits, price, currency, stripe_mode,
         state) values ($1, $2, 'pack', 'pack', $3, $4, 'usd', 'test', $5)`,
      [`ord_${state}_${price}`, accountId, credits, price, state],
    );
  }
  const period = '--from 2026-03-01T00:00:00Z --until 2026-03-02T00:00:00Z';
  const rows = await listCosts(`--per connection ${period}`);
  const byTerms = rows.find(({ group }) => group === 'by-terms');
  assert.deepEqual([byTerms?.revenue, byTerms?.margin], ['3.2', '2.2']);
});

test('metrics have the margins of recent tasks, and how many costs differ from the terms', async () => {
  assert.deepEqual(await figures(), { margins: [], differing: [] }, 'none is of the last day');
  const createdAt = new Date().toISOString();
  await makeEnded({ provider: 'reported', createdAt, cost: ['9', 'usd'] });
  await makeEnded({ provider: 'by-terms', createdAt });
  await makeEnded({ provider: 'unknown', createdAt });
  const model = 'video-2.0-fast';
  assert.deepEqual(await figures(), {
    margins: [
      { model, provider: 'by-terms', currency: 'usd', margin: 1.5 },
      { model, provider: 'reported', currency: 'usd', margin: -7 },
    ],
    differing: [{ model, provider: 'reported', currency: 'usd', tasks: 1 }],
  });
});

async function figures() {
  const { margins, differing } = await readFigures(db);
  return { margins, differing };
}

test('the cost of one task is shown once it has ended', async () => {
  const id = await makeEnded({ provider: 'reported', cost: ['0.55', 'usd'] });
  assert.deepEqual(await run(`costs show ${id} --credit-price usd=0.01`), {
    task_id: id,
    connection: 'reported',
    currency: 'usd',
    cost: '0.55',
    is_reported: true,
    differs: false,
    revenue: '2.5',
    margin: '1.95',
    terms: (await listTerms(db)).find(({ connection }) => connection === 'reported'),
  });
  await sql(db, `update tasks set phase = 'generating', due_at = clock_now() where id = $1`, [id]);
  await assert.rejects(run(`costs show ${id}`), /is no ended task with a job/);
});

test('terms and prices that make no sense are refused', async () => {
  const refusals = {
    'terms set nowhere video-2.0-fast 720p 1 usd': /connection.* must name .*, not nowhere/i,
    'terms set ark video-9 720p 1 usd': /model.* must be one of/i,
    'terms set ark video-2.0-fast 8k 1 usd': /resolution.* must be 480p/i,
    'terms set ark video-2.0-fast 720p 1e3 usd': /must be a decimal/,
    'terms set ark video-2.0-fast 720p -1 usd': /must be a decimal/,
    'terms set ark video-2.0-fast 720p 1 dollars': /must have three letters/,
    'terms set ark video-2.0-fast 720p 1 usd --reference-price x': /must be a decimal/,
    'terms set ark video-2.0-fast 720p 1 usd --per hour': /must be output-second or compute-second/,
    'terms set ark video-2.0-fast 720p 1 usd --per compute-second --reference-price 1':
      /reference-price is only for seconds of the output/,
  };
  for (const [line, expected] of Object.entries(refusals)) {
    await assert.rejects(run(line, '--reason', 'because'), expected, line);
  }
  for (const price of ['usd', 'usd=', 'usd=-1', 'dollar=1', 'usd=0.01,eur']) {
    await assert.rejects(run(`costs list --credit-price ${price}`), /must be such as usd=0.01/);
  }
});

const FIRST = 'ark video-2.0-fast 720p';
/** A time on a day of January 2030, where the clock is frozen. */
const day = (number: number, time = '00:00') =>
  `2030-01-${String(number).padStart(2, '0')}T${time}:00Z`;
const JANUARY = `--from ${day(1)} --until ${day(31)}`;

test('the cost of a job never changes once terms have said it', async () => {
  await freezeClock(db, 24 * 86_400); // the 25th
  for (const number of [2, 10, 20]) {
    await makeEnded({ provider: 'ark', createdAt: day(number, '12:00') });
  }
  const costs = async () => {
    const rows = await listCosts(JANUARY);
    return rows.map(({ cost }) => cost).reverse();
  };
  assert.deepEqual(await costs(), [null, null, null]);
  const steps: [terms: string, result: 'set' | 'unchanged' | 'refused', costs: unknown[]][] = [
    [`0.1 USD --from ${day(5)}`, 'set', [null, '0.5', '0.5']],
    [`0.2 usd --from ${day(15)}`, 'refused', [null, '0.5', '0.5']],
    [`0.2 usd --from ${day(5)}`, 'refused', [null, '0.5', '0.5']],
    [`1 usd --per compute-second --from ${day(15)}`, 'refused', [null, '0.5', '0.5']],
    [`0.100 usd --from ${day(15)}`, 'unchanged', [null, '0.5', '0.5']],
    [`0.7 usd --from ${day(1)}`, 'set', ['3.5', '0.5', '0.5']],
    [`0.8 usd --from ${day(1)}`, 'refused', ['3.5', '0.5', '0.5']],
    ['9 usd', 'set', ['3.5', '0.5', '0.5']],
    [`2 usd --from ${day(28)}`, 'set', ['3.5', '0.5', '0.5']],
    [`4 usd --from ${day(28)}`, 'set', ['3.5', '0.5', '0.5']],
  ];
  for (const [terms, result, wanted] of steps) {
    const setting = setTerms(`${FIRST} ${terms}`);
    if (result === 'refused') await assert.rejects(setting, /--from must not be in the past/);
    else assert.equal(Object(await setting).changed, result === 'set', terms);
    assert.deepEqual(await costs(), wanted, terms);
  }
  const listed = (await listTerms(db)).filter(({ connection }) => connection === 'ark');
  const prices = listed.map(({ price }) => price);
  assert.deepEqual(prices, ['4', '2', '9', '0.1', '0.7']);
  const first = `fal video-2.0-fast 720p 1 usd --from ${day(1)}`;
  const both = await Promise.allSettled([setTerms(first), setTerms(first.replace('1', '2'))]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});
