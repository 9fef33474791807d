import { settle } from '../../../src/ledger/ledger.ts';
import { reserve } from '../../ledger/reserve.ts';
import type { Random } from '../../random.ts';
import type { BillingFixture } from '../billing-fixture.ts';

/** What may become of a purchase. Each order of the run is drawn from the list of lives. */
export interface Life {
  name: string;
  /** How often it is drawn, against the shares of the others. */
  share: number;
  /** Buys something for the account, and does to it what customers, banks and Stripe do. */
  run(world: World, random: Random, accountId: string): Promise<Due>;
}

/** Asked when all is over: what the simulator says of the orders of this life, by its own rules. */
export type Due = () => DueOrder[] | Promise<DueOrder[]>;

/** The credits that must be booked of an order now. */
interface DueOrder {
  order: string;
  credits: number;
}

/** What all lives share. */
export interface World {
  fixture: BillingFixture;
  /** Credits that were captured, by account. */
  spent: Map<string, number>;
}

/** A customer who tries again when Stripe refuses a purchase for now. */
export function persevering(fixture: BillingFixture): BillingFixture {
  const { buy, subscribe } = fixture;
  return {
    ...fixture,
    buy: (...given) => persevere(() => buy(...given)),
    subscribe: (...given) => persevere(() => subscribe(...given)),
  };
}

const TRIES = 20;
/** The last: another life archives the prices at the same moment. */
const PASSES = [
  'StripeAPIError',
  'StripeRateLimitError',
  'StripeConnectionError',
  'StripeInvalidRequestError',
];

/** Does again what Stripe has refused for now, or whose response was lost. */
export async function persevere<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = TRIES; ; tries -= 1) {
    try {
      return await work();
    } catch (error) {
      const { type } = Object(error) as { type?: string };
      if (tries === 0 || !PASSES.includes(type ?? '')) throw error;
    }
  }
}

/** A moment in which other lives go on. */
export function pause(random: Random): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random.between(0, 60)));
}

/** Reserves credits for a task, and captures or refunds them. */
export async function spend(
  { fixture, spent }: World,
  wanted: { accountId: string; credits: number },
): Promise<void> {
  const { db } = fixture.deps;
  const { accountId, credits } = wanted;
  const task = { ...wanted, taskId: `task_${crypto.randomUUID()}` };
  const outcome = credits % 3 === 0 ? 'refund' : 'capture';
  try {
    await db.transaction((tx) => reserve(tx, task));
  } catch {
    return; // insufficient credits
  }
  await db.transaction((tx) => settle(tx, outcome, [task]));
  if (outcome === 'capture') spent.set(accountId, (spent.get(accountId) ?? 0) + credits);
}
