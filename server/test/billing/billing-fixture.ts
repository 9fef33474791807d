import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import type { CheckoutSession } from '../../../simulators/stripe/objects.ts';
import { type SimulatedStripe, startSimulatedStripe } from '../../../simulators/stripe/stripe.ts';
import { buyPack } from '../../src/billing/buy-pack.ts';
import { type CreditOrder, readOrder } from '../../src/billing/credit-order.ts';
import type { WatchDeps } from '../../src/billing/low-balance/watch.ts';
import { type Offer, setOffer } from '../../src/billing/offers.ts';
import {
  type BillingDeps,
  learnAccount,
  openStripe,
  scopeOfKey,
} from '../../src/billing/stripe-client.ts';
import { subscribe } from '../../src/billing/subscription/subscribe.ts';
import { settleDue } from '../../src/billing/sweep.ts';
import { listen } from '../../src/http/listen.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Log } from '../../src/kernel/log.ts';
import { adjust } from '../../src/ledger/ledger.ts';
import { paidBalances } from '../../src/ledger/payments.ts';
import { audit } from '../../src/operator/audit.ts';
import { handleError } from '../../src/requests/errors.ts';
import { stripeWebhook } from '../../src/site/billing/stripe-webhook.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, quiet, type TestDatabase } from '../database.ts';
import { sql } from '../task-fixtures.ts';

export const WEBHOOK_SECRET = 'whsec_test';

const PACK = { ...offer('small', 1000, 1000), kind: 'pack', period: null } as const;

/** A pack of 1000 credits for 10.00, and plans of 3000 and 9000 credits a month. */
const OFFERS: ReadonlyArray<Omit<Offer, 'active'>> = [
  PACK,
  { ...offer('hobby', 3000, 2000), kind: 'plan', period: 'month', expires_days: 40 },
  { ...offer('studio', 9000, 5000), kind: 'plan', period: 'month', expires_days: 40 },
];

function offer(id: string, credits: number, price: number) {
  return { id, name: `The ${id}`, credits, price, currency: 'usd', expires_days: null };
}

/** A database with packs and plans, a simulated Stripe, and the webhook between them. */
export interface BillingFixture {
  database: TestDatabase;
  deps: BillingDeps;
  /** Those of a process with another key of Stripe, such as `sk_live_1`, on the same database. */
  depsOf(secretKey: string): Promise<BillingDeps>;
  watched: WatchDeps;
  simulator: SimulatedStripe;
  webhook: { app: FastifyInstance; url: string };
  /** The subjects of the mails to the owner of an account, in the order of their writing. */
  mailsTo(accountId: string): Promise<string[]>;
  customer(): Promise<string>;
  /** An account with a saved card, whose 1000 credits are reduced to these. */
  customerWith(credits: number): Promise<string>;
  /** Corrects the balance of an account. */
  change(accountId: string, credits: number): Promise<void>;
  /** Sells the pack under another id, too; clicks on it lead to a Checkout of their own. */
  anotherPack(): Promise<string>;
  /** Opens a Checkout for a pack; returns its order. */
  buy(accountId: string, options?: { savesCard?: boolean; packId?: string }): Promise<CreditOrder>;
  /** Opens a Checkout for a plan; returns our id and that of the Checkout session. */
  subscribe(accountId: string, planId: string): Promise<{ id: string; session: string }>;
  /** A new account with a paid plan of 3000 credits a month; `stripe` is its id there. */
  subscribed(): Promise<{ accountId: string; id: string; stripe: string }>;
  order(id: string): Promise<CreditOrder>;
  /** Available paid credits, and the debt. */
  balance(accountId: string): Promise<{ available: number; debt: number }>;
  /** Waits for the events on their way and settles all that is due. */
  settled(): Promise<void>;
  /** Completes a Checkout, and settles it. */
  complete(session: string | null, how?: 'now' | 'later'): Promise<CheckoutSession>;
  /** The available paid credits once all is settled. */
  available(accountId: string): Promise<number>;
  /** Loses all events of Stripe while the work runs. */
  withoutEvents(work: () => unknown): Promise<void>;
  close(): Promise<void>;
}

export async function openBillingFixture(options: Options = {}): Promise<BillingFixture> {
  const { database, deps, depsOf, simulator, webhook } = await openParts(options);
  const { db } = database;
  const fixture: BillingFixture = {
    database,
    deps,
    depsOf,
    watched: { ...deps, billing: deps },
    simulator,
    webhook,
    async mailsTo(accountId) {
      const select = 'select subject from mails where account_id = $1 order by id';
      const rows = await sql<{ subject: string }>(db, select, [accountId]);
      return rows.map(({ subject }) => subject);
    },
    customer: async () => (await makeCustomer(db, 0)).accountId,
    async customerWith(credits) {
      const accountId = await fixture.customer();
      await fixture.complete((await fixture.buy(accountId, { savesCard: true })).stripe_id);
      await fixture.change(accountId, credits - 1000);
      return accountId;
    },
    async change(accountId, credits) {
      const given = { accountId, kind: 'paid', reference: crypto.randomUUID() } as const;
      await adjust(db, { ...given, credits, note: 'test' });
    },
    async anotherPack() {
      const id = `small-${crypto.randomUUID().slice(0, 13)}`;
      await setOffer(db, { ...PACK, id });
      return id;
    },
    async buy(accountId, { savesCard = false, packId = 'small' } = {}) {
      const { orderId } = await buyPack(deps, { accountId, packId, savesCard });
      return fixture.order(orderId);
    },
    async subscribe(accountId, planId) {
      const { subscriptionId, url } = await subscribe(deps, { accountId, planId });
      return { id: subscriptionId, session: url.split('/').at(-1) ?? '' };
    },
    async subscribed() {
      const accountId = await fixture.customer();
      const { id, session } = await fixture.subscribe(accountId, 'hobby');
      const { subscription } = await fixture.complete(session);
      return { accountId, id, stripe: subscription ?? '' };
    },
    async order(id) {
      const order = await readOrder(db, id);
      if (!order) throw new Error(`there is no order ${id}`);
      return order;
    },
    async balance(accountId) {
      const [{ available = 0, debt = 0 } = {}] = await paidBalances(db, [accountId]);
      return { available, debt };
    },
    async settled() {
      await simulator.webhooks.idle();
      await settleDue(deps);
    },
    async complete(session, how = 'now') {
      const completed = completeSession(simulator.state, session ?? '', how);
      await fixture.settled();
      return completed;
    },
    async available(accountId) {
      await fixture.settled();
      return (await fixture.balance(accountId)).available;
    },
    withoutEvents: (work) => withoutEvents(simulator, work),
    async close() {
      await simulator.close();
      await webhook.app.close();
      await database.close();
    },
  };
  return fixture;
}

/** After the tests, the audit must find no problem but expected ones. */
export function auditAfterwards(
  { database, close }: BillingFixture,
  isExpected: (problem: string) => boolean = () => false,
): void {
  after(async () => {
    const { problems } = await audit(database.db);
    await close();
    assert.deepEqual(
      problems.filter((problem) => !isExpected(problem)),
      [],
    );
  });
}

interface Options {
  /** Of the simulator: a number from 0, below 1. */
  chance?: () => number;
  /** How often a call of Stripe is sent again. */
  retries?: number;
  log?: Log;
}

async function openParts({ retries, log = quiet, ...options }: Options) {
  const database = await createTestDatabase();
  const { db } = database;
  for (const one of OFFERS) await setOffer(db, one);
  const simulator = await startSimulatedStripe(options);
  const secret = WEBHOOK_SECRET;
  const publicUrl = () => 'http://website.test';
  const depsOf = async (secretKey: string): Promise<BillingDeps> => {
    const settings = { secretKey, webhookSecret: secret, baseUrl: simulator.url };
    const scope = scopeOfKey(secretKey);
    const deps = { db, log, stripe: await openStripe(settings, retries), scope, publicUrl };
    await learnAccount(deps);
    return deps;
  };
  const deps = await depsOf('sk_test_1');
  const webhook = await serveWebhook(deps);
  simulator.webhooks.to = { url: `${webhook.url}/webhooks/stripe`, secret };
  return { database, deps, depsOf, simulator, webhook };
}

async function withoutEvents({ webhooks }: SimulatedStripe, work: () => unknown): Promise<void> {
  const { delivery } = webhooks;
  webhooks.delivery = { lost: 1, twice: 0, lateMs: 0 };
  try {
    await work();
  } finally {
    webhooks.delivery = delivery;
  }
}

async function serveWebhook(deps: BillingDeps): Promise<BillingFixture['webhook']> {
  const app = fastify({ genReqId: () => newId('request') });
  app.setErrorHandler((error: Error, request, reply) =>
    handleError(error, { request, reply, log: quiet }),
  );
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
  });
  await app.register(stripeWebhook, { ...deps, webhookSecret: WEBHOOK_SECRET });
  const url = await listen(app, { host: '127.0.0.1', port: 0, variable: 'PORT' });
  return { app, url };
}
