import { creditPrices } from '../../billing/credit-price.ts';
import { RESOLUTIONS } from '../../catalog/models.ts';
import { readClockMs } from '../../database/clock.ts';
import type { Database, Queryable, Transaction } from '../../database/database.ts';
import { Refusal, UsageError } from '../../kernel/errors.ts';
import { listTerms, saveTerms, TERMS_UNITS, type Terms } from '../../routing/terms.ts';
import { performAction } from '../actions.ts';
import {
  COST_GROUPS,
  type CostGroup,
  type Costs,
  costOfTask,
  listCosts,
} from '../listings/costs.ts';
import { choiceOf, type Field, flag, optional, TASK, text, time } from '../verb/fields.ts';
import { RowStream, verb } from '../verb/verb.ts';
import { knownConnections, requireConnections } from './providers.ts';
import { requireModel } from './routes.ts';

const DECIMAL = /^\d{1,9}(\.\d{1,12})?$/;

const PRICE = text('Units of the currency for each second, such as 0.0525.', {
  word: 'PRICE',
  pattern: [DECIMAL, 'must be a decimal such as 0.0525'],
});

const TOO_EARLY =
  'must not be in the past: other terms applied then, and a job keeps those of its submit';

export const TERMS = {
  'terms list': verb({
    summary: 'List what each connection charges for a second, also from earlier or later dates',
    fields: {},
    run: ({ db }) => listTerms(db),
  }),
  'terms set': verb({
    summary: 'Set what a connection charges you for each second of a model’s videos',
    fields: {
      connection: text('The connection.', { word: 'CONNECTION', max: 31 }),
      model: text('The model.', { word: 'MODEL', max: 63 }),
      resolution: choiceOf('The resolution of the output.', RESOLUTIONS, { word: 'RESOLUTION' }),
      price: PRICE,
      currency: text('Three letters, such as usd.', {
        word: 'CURRENCY',
        pattern: [/^[a-z]{3}$/i, 'must have three letters, such as usd'],
      }),
      per: optional(
        choiceOf(
          'Which seconds count: those of the output (the default), or the compute time that the ' +
            'provider reports.',
          TERMS_UNITS,
        ),
      ),
      reference_price: optional({
        ...PRICE,
        about:
          'For tasks with reference videos: the price of each second of output and references. ' +
          'If it is not set, PRICE applies to the output alone.',
      }),
      from: optional(
        time(
          'For jobs submitted from then on; by default from now. A past date must be before the ' +
            'first terms of the connection, model and resolution.',
        ),
      ),
    },
    positional: ['connection', 'model', 'resolution', 'price', 'currency'],
    reason: 'required',
    dialog: { title: 'Set the terms' },
    async run({ db }, { from, currency, per = 'output-second', ...given }, action) {
      requireConnections('connection', [given.connection], await knownConnections(db));
      await requireModel(db, given.model);
      const { reference_price = null } = given;
      if (per === 'compute-second' && reference_price !== null) {
        throw new Refusal('reference_price', reference_price, 'is only for seconds of the output');
      }
      const terms = { ...given, per, reference_price, currency: currency.toLowerCase() };
      const changing = {
        target: given.connection,
        details: { ...terms, from },
        before: (tx: Transaction) => termsBefore(tx, terms, from),
      };
      return performAction(db, action, changing, async (tx) => {
        const verdict = await saveTerms(tx, { ...terms, from });
        if (verdict === 'too_early') throw new Refusal('from', from, TOO_EARLY);
        return { ...terms, from: from ?? null, changed: verdict === 'set' };
      });
    },
  }),
};

/** The terms that new ones replace: those that apply at `from`, by default now. */
async function termsBefore(
  tx: Transaction,
  { connection, model, resolution }: Pick<Terms, 'connection' | 'model' | 'resolution'>,
  from: Date | undefined,
): Promise<Partial<Terms> | undefined> {
  const at = from?.getTime() ?? (await readClockMs(tx));
  const current = (await listTerms(tx)).find(
    (row) =>
      row.connection === connection &&
      row.model === model &&
      row.resolution === resolution &&
      row.from.getTime() <= at,
  );
  if (!current) return undefined;
  const { per, price, reference_price, currency } = current;
  return { per, price, reference_price, currency, from: current.from };
}

const CREDIT_PRICES: Field<Map<string, number>> = {
  ...text(
    'What a credit is worth, such as usd=0.01; without it, the average price of the newest paid ' +
      'orders in the currency of the cost.',
    { word: 'CUR=P' },
  ),
  read(given, refuse) {
    const pairs = String(given)
      .split(',')
      .map((pair) => {
        const [, currency = '', price = ''] = /^([a-z]{3})=(.+)$/i.exec(pair.trim()) ?? [];
        if (!DECIMAL.test(price)) refuse('must be such as usd=0.01');
        return [currency.toLowerCase(), Number(price)] as const;
      });
    return new Map(pairs);
  },
};

export const COST_COLUMNS: readonly (keyof Costs)[] = [
  'group',
  'currency',
  'tasks',
  'seconds',
  'credits',
  'cost',
  'reported',
  'differing',
  'revenue',
  'margin',
  'terms',
];

/** How far back costs are listed unless `from` is given. */
const DAYS = 30;

export const COSTS = {
  'costs show': verb({
    summary: 'Show what the job of an ended task cost you, and your margin',
    fields: { id: TASK, credit_price: optional(CREDIT_PRICES) },
    positional: ['id'],
    run: async ({ db }, { id, credit_price: prices }) => {
      const found = await costOfTask(db, id, await creditPricesOr(db, prices));
      if (!found)
        throw new UsageError(`${JSON.stringify(id)} is no ended task with a job, or is a test`);
      const { group: connection, currency, cost, reported, differing, revenue, margin } = found;
      const facts = { is_reported: reported > 0, differs: differing > 0 };
      const terms = (await listTerms(db)).find((row) => String(row.id) === found.terms) ?? null;
      return { task_id: id, connection, currency, cost, ...facts, revenue, margin, terms };
    },
  }),
  'costs list': verb({
    summary: 'List what ended tasks cost you, and your margin; of the last 30 days (UTC)',
    fields: {
      per: optional(choiceOf('A row for each of these and each currency.', COST_GROUPS)),
      from: optional(time('Tasks created from then on.')),
      until: optional(time('Tasks created before.')),
      credit_price: optional(CREDIT_PRICES),
      csv: flag('Print comma-separated values.'),
    },
    async run({ db }, { per = 'day', csv: isCsv, credit_price: prices, ...period }) {
      const rows = await readCosts(db, { per, prices, days: DAYS, ...period });
      return new RowStream({
        name: 'costs',
        columns: COST_COLUMNS,
        rows,
        isCsv,
        summary: () => ({ per }),
      });
    },
    runOnConsole: async (run): Promise<Costs[]> => {
      return (await Array.fromAsync((await run()).content.rows)) as Costs[];
    },
  }),
};

/** Reads costs in a snapshot, where a statement may take longer than elsewhere. */
export function readCosts(
  db: Database,
  {
    prices,
    ...wanted
  }: {
    per: CostGroup;
    days: number;
    limit?: number;
    taskLimit?: number;
    from?: Date | undefined;
    until?: Date | undefined;
    prices?: Map<string, number> | undefined;
  },
): Promise<Costs[]> {
  return db.snapshot(async (tx) => {
    return listCosts(tx, { ...wanted, creditPrices: await creditPricesOr(tx, prices) });
  });
}

async function creditPricesOr(db: Queryable, prices: ReadonlyMap<string, number> = new Map()) {
  return new Map([...(await creditPrices(db)), ...prices]);
}
