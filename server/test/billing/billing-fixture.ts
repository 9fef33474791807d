import assert from 'node:assert/strict';
import { after } from 'node:test';
import { fastify } from 'fastify';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import { type SimulatedStripe, startSimulatedStripe } from '../../../simulators/stripe/stripe.ts';
import { buyPack } from '../../src/billing/buy-pack.ts';
import { type CreditOrder, readOrder } from '../../src/billing/credit-order.ts';
import { type Offer, readOffer, setOffer } from '../../src/billing/offers.ts';
import {
  type BillingDeps,
  learnAccount,
  openStripe,
  scopeOfKey,
} from '../../src/billing/stripe-client.ts';
import { planPriceOf } from '../../src/billing/subscription/plan-prices.ts';
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
import { createTestDatabase, quiet } from '../database.ts';
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

export type BillingFixture = Awaited<ReturnType<typeof openBillingFixture>>;

/** A database with packs and plans, a simulated Stripe, and the webhook between them. */
export async function openBillingFixture({ auditsAllBut, ...options }: Options = {}) {
  const parts = await openParts(options);
  const { database, deps, simulator, webhook } = parts;
  const { db } = database;
  after(async () => {
    const problems = auditsAllBut ? (await audit(db)).problems : [];
    await simulator.close();
    await webhook.app.close();
    await database.close();
    const unexpected = problems.filter(
      (problem) => !auditsAllBut?.some((one) => problem.includes(one)),
    );
    assert.deepEqual(unexpected, []);
  });
  const acts = customersOf(parts);
  const { customer, buy, change, complete, settled } = acts;
  return {
    ...parts,
    ...acts,
    state: simulator.state,
    watched: { ...deps, billing: deps },
    /** The subjects of the mails to the owner of an account, in the order of their writing. */
    async mailsTo(accountId: string) {
      const select = 'select subject from mails where account_id = $1 order by id';
      const rows = await sql<{ subject: string }>(db, select, [accountId]);
      return rows.map(({ subject }) => subject);
    },
    /** An account with a saved card, whose 1000 credits are reduced to these. */
    async customerWith(credits: number) {
      const accountId = await customer();
      await complete((await buy(accountId, { savesCard: true })).stripe_id);
      await change(accountId, credits - 1000);
      return accountId;
    },
    /** Sells the pack under another id, too; clicks on it lead to a Checkout of their own. */
    async anotherPack() {
      const id = `small-${crypto.randomUUID().slice(0, 13)}`;
      await setOffer(db, { ...PACK, id });
      return id;
    },
    /** A new account with a paid plan of 3000 credits a month; `stripe` is its id there. */
    async subscribed() {
      const accountId = await customer();
      const { id, session } = await acts.subscribe(accountId, 'hobby');
      const { customer: atStripe, subscription } = await complete(session);
      return { accountId, id, stripe: subscription ?? '', customer: atStripe };
    },
    /** The price of a plan at Stripe. */
    async priceOf(planId: string) {
      const plan = await readOffer(db, 'plan', planId);
      if (!plan) throw new Error(`there is no plan ${planId}`);
      return simulator.state.get('price', (await planPriceOf(deps, plan)).stripe_price);
    },
    /** The available paid credits once all is settled. */
    async available(accountId: string) {
      await settled();
      return (await acts.balance(accountId)).available;
    },
    /** Settles what is due when so many seconds have passed. */
    async settledAfter(seconds: number) {
      await database.setClock(seconds);
      await settled();
      await database.setClock(0);
    },
    /** Loses all events of Stripe while the work runs. */
    withoutEvents: (work: () => unknown) => withoutEvents(simulator, work),
  };
}

/** What customers do, and how it is settled. */
function customersOf({ database: { db }, deps, simulator }: Awaited<ReturnType<typeof openParts>>) {
  const customer = async () => (await makeCustomer(db, 0)).accountId;
  const order = async (id: string): Promise<CreditOrder> => {
    const found = await readOrder(db, id);
    if (!found) throw new Error(`there is no order ${id}`);
    return found;
  };
  /** Opens a Checkout for a pack; returns its order. */
  const buy = async (accountId: string, { savesCard = false, packId = 'small' } = {}) => {
    const { orderId } = await buyPack(deps, { accountId, packId, savesCard });
    return order(orderId);
  };
  /** Waits for the events on their way and settles all that is due. */
  const settled = async () => {
    await simulator.webhooks.idle();
    await settleDue(deps);
  };
  /** Available paid credits, and the debt. */
  const balance = async (accountId: string) => {
    const [{ available = 0, debt = 0 } = {}] = await paidBalances(db, [accountId]);
    return { available, debt };
  };
  /** Completes a Checkout, and settles it. */
  const complete = async (session: string | null, how: 'now' | 'later' = 'now') => {
    const completed = completeSession(simulator.state, session ?? '', how);
    await settled();
    return completed;
  };
  /** Corrects the balance of an account. */
  const change = async (accountId: string, credits: number) => {
    const given = { accountId, kind: 'paid', reference: crypto.randomUUID() } as const;
    await adjust(db, { ...given, credits, note: 'test' });
  };
  /** Opens a Checkout for a plan; returns our id and that of the Checkout session. */
  const subscribeTo = async (accountId: string, planId: string) => {
    const { subscriptionId, url } = await subscribe(deps, { accountId, planId });
    return { id: subscriptionId, session: url.split('/').at(-1) ?? '' };
  };
  return { customer, order, buy, settled, balance, complete, change, subscribe: subscribeTo };
}

type Calls<Resource> = {
  [Name in keyof Resource]?: Resource[Name] extends (...given: never[]) => unknown
    ? Resource[Name]
    : Calls<Resource[Name]>;
};

/** The deps of a process that gets other answers to these calls to Stripe. */
export function withCalls(deps: BillingDeps, calls: Calls<BillingDeps['stripe']>): BillingDeps {
  return { ...deps, stripe: overlaid(deps.stripe, calls) };
}

function overlaid<Resource extends object>(base: Resource, calls: object): Resource {
  const members = Object.entries(calls).map(([name, call]) => {
    const value =
      typeof call === 'function' ? call : overlaid(Object(Reflect.get(base, name)), call);
    return [name, { value }] as const;
  });
  return Object.create(base, Object.fromEntries(members));
}

interface Options {
  /** Words of the problems that an audit may find in the end. Without these there is no audit. */
  auditsAllBut?: string[];
  /** The simulator's random numbers, from 0 to below 1. */
  chance?: () => number;
  /** How often a call to Stripe is sent again. */
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
  /** The deps of a process with another Stripe key, such as `sk_live_1`, on the same database. */
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

async function serveWebhook(deps: BillingDeps) {
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
