import { Type } from 'typebox';
import { findAccount, withEmails } from '../../accounts/accounts.ts';
import { listKeys } from '../../accounts/api-keys.ts';
import { describeMovement, offersOf, orderIdOf } from '../../billing/movement-words.ts';
import { subscriptionOf } from '../../billing/subscription/subscription.ts';
import { readCatalog } from '../../catalog/stored-models.ts';
import type { Queryable } from '../../database/database.ts';
import { csvTable } from '../../kernel/text/csv.ts';
import { readOverview } from '../../ledger/overview.ts';
import { movementPage } from '../../ledger/statement.ts';
import { testBalance } from '../../ledger/test-credits.ts';
import { listActions } from '../../operator/actions.ts';
import { listAudits } from '../../operator/audit-runs.ts';
import { readDecisions } from '../../operator/decisions.ts';
import { COST_GROUPS } from '../../operator/listings/costs.ts';
import { readDue, readLive } from '../../operator/listings/figures.ts';
import { recentAttempts } from '../../operator/listings/recent-attempts.ts';
import { showReport } from '../../operator/listings/reports.ts';
import { listReviews } from '../../operator/listings/reviews.ts';
import { selectHeld } from '../../operator/reconcile-held.ts';
import { examine } from '../../operator/set-up/examine.ts';
import { readInput } from '../../operator/verb/fields.ts';
import { listSignIns, showAccount } from '../../operator/verbs/accounts.ts';
import { COST_COLUMNS, readCosts } from '../../operator/verbs/costs.ts';
import { listProviders, showCreates } from '../../operator/verbs/providers.ts';
import { showRoutes } from '../../operator/verbs/routes.ts';
import { TASKS } from '../../operator/verbs/tasks.ts';
import { listEndpoints } from '../../webhooks/endpoints.ts';
import { siteRoute } from '../route.ts';
import { sendCsv } from '../send-file.ts';
import { type OperatorDeps, operatorRead, PAGE_ROWS, PREFIX, pageOf } from './operator-route.ts';
import { VERB_ROUTES } from './verb-routes.ts';

const AUDITS = 10;
const ACTIONS_SHOWN = 20;
const ALL_MOVEMENTS = {
  kinds: ['paid', 'promotional'] as const,
  reasons: null,
  from: null,
  until: null,
};

const Text = Type.Optional(Type.String());
const { provider, account, held_hours, cause } = TASKS['tasks reconcile'].fields;
const HELD = { provider, account, held_hours, cause };

const COSTS = {
  per: Type.Enum([...COST_GROUPS], { default: 'day' }),
  days: Type.Enum(['7', '30'], { default: '7' }),
};
const CostsSchema = Type.Object(COSTS);

async function shownSubscription(db: Queryable, accountId: string) {
  const found = await subscriptionOf(db, accountId);
  return found ? { plan: found.plan_name, state: found.state, renews_at: found.renews_at } : null;
}

/** Each model with its route. Tasks of a model without one go to the connection in PROVIDER. */
async function routesOfModels(db: Queryable, providerName: string) {
  const [routes, { models }] = await Promise.all([showRoutes(db), readCatalog(db)]);
  return models.map(({ name: model }) => {
    const route = routes.find((candidate) => candidate.model === model) ?? {
      choice: 'order' as const,
      retry_failed: false,
      steps: null,
      is_served: true,
    };
    return { ...route, model, default_connection: providerName };
  });
}

/** The operator console's routes: all verbs, and the reads of its pages. */
export const OPERATOR_ROUTES = [
  ...VERB_ROUTES,
  operatorRead('/figures', {}, async ({ db, overview }) => {
    const [live, due, sold, costs, minutes] = await Promise.all([
      readLive(db),
      readDue(db),
      overview.sold(),
      overview.costs({ per: 'day', days: 1 }),
      overview.minutes(),
    ]);
    return { now: { live, due }, today: { sold, costs }, minutes };
  }),
  operatorRead('/decisions', {}, async ({ db, certificateEnd }) => {
    return { items: await readDecisions(db, certificateEnd), next: null };
  }),
  operatorRead('/providers', {}, async ({ db, providers, providerName }) => ({
    items: (await listProviders(db)).map((row) => ({
      ...row,
      is_configured: providers.has(row.provider),
      is_default: row.provider === providerName,
    })),
    ...(await showCreates(db)),
    routes: await routesOfModels(db, providerName),
    recent: await recentAttempts(db),
  })),
  operatorRead('/costs', COSTS, async ({ db, overview }, { query: { per, days } }) => {
    const rows = await overview.costs({ per, days: Number(days) });
    const accounts = per === 'account' ? rows.map(({ group }) => ({ account_id: group })) : [];
    const named = await withEmails(db, accounts);
    return {
      items: rows.map((row, i) => ({ ...row, email: named[i]?.email ?? null })),
      next: null,
    };
  }),
  siteRoute(`GET ${PREFIX}/costs.csv`, {
    access: 'operator',
    query: CostsSchema,
    handle: async ({ db }: OperatorDeps, { query: { per, days }, reply }): Promise<void> => {
      const rows = await readCosts(db, { per, days: Number(days) });
      sendCsv(reply, `costs-by-${per}-${days}-days.csv`, csvTable(COST_COLUMNS, rows));
    },
  }),
  operatorRead('/set-up', {}, async ({ openSetUp }) => {
    const setUp = await openSetUp();
    const { url } = setUp.links.linkToSetUp('visitor', setUp.now() / 1000);
    return { ...(await examine(setUp)), visit_url: url };
  }),
  operatorRead('/audits', {}, async ({ db }) => {
    return { items: await listAudits(db, AUDITS), next: null };
  }),
  operatorRead(
    '/held',
    { provider: Text, account: Text, held_hours: Text, cause: Text },
    async ({ db }, { query }) => {
      const { held_hours: hours, ...filter } = readInput(HELD, query);
      const { tasks, confirm } = await selectHeld(db, { ...filter, hours });
      return { tasks: await withEmails(db, tasks), confirm };
    },
  ),
  operatorRead('/reviews', { cursor: Text }, async ({ db, links }, { query: { cursor } }) => {
    const reviews = await listReviews(db, cursor ?? null, PAGE_ROWS);
    const shown = reviews.map(({ inputs, now_seconds: now, ...review }) => ({
      ...review,
      files: inputs.map(({ field, entry, objectId, mediaType }) => ({
        field,
        entry,
        url: links.briefLinkTo(objectId, now, mediaType),
      })),
    }));
    return pageOf(await withEmails(db, shown), ({ id }) => id);
  }),
  operatorRead('/accounts/:id', {}, async ({ db }, { id }) => {
    const accountId = await findAccount(db, id);
    return {
      ...(await showAccount(db, accountId)),
      lots: (await readOverview(db, accountId)).lots,
      keys: await listKeys(db, accountId),
      test: await testBalance(db, accountId),
      endpoints: (
        await Promise.all(
          (['live', 'test'] as const).map((mode) => listEndpoints(db, accountId, mode)),
        )
      ).flat(),
      subscription: await shownSubscription(db, accountId),
      ...(await listSignIns(db, accountId)),
      actions: await listActions(db, { target: accountId, limit: ACTIONS_SHOWN }),
    };
  }),
  operatorRead('/reports/:id', {}, async ({ db, links }, { id }) => {
    const { now_seconds: now, ...report } = await showReport(db, id);
    const { object_id: video, object_state: state } = report;
    const isServed = video !== null && state === 'ready';
    return { ...report, video_url: isServed ? links.linkTo(video, now) : null };
  }),
  operatorRead(
    '/accounts/:id/statement',
    { cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })) },
    async ({ db }, { id, query: { cursor } }) => {
      const before = cursor === undefined ? null : Number(cursor);
      const page = { ...ALL_MOVEMENTS, before, limit: PAGE_ROWS };
      const rows = await movementPage(db, await findAccount(db, id), page);
      const offers = await offersOf(db, rows);
      const lines = rows.map((row) => {
        return { ...row, what: describeMovement(row, offers), order_id: orderIdOf(row) };
      });
      return pageOf(lines, (line) => String(line.id));
    },
  ),
];
