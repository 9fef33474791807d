import { ACCOUNT_STATE, type AccountState, joinAccount } from '../../accounts/account-sql.ts';
import { type Queryable, queryFirst } from '../../database/database.ts';
import { inScope, type ScopeColumns, type StripeMode, type StripeScope } from '../stripe-client.ts';

export interface Subscription extends AccountState, ScopeColumns {
  id: string;
  account_id: string;
  plan_id: string;
  plan_name: string;
  stripe_checkout: string | null;
  checkout_url: string | null;
  stripe_subscription: string | null;
  /**
   * `opening`: Checkout is not completed; `expired`: it never was. Otherwise Stripe's status, such
   * as active, past_due or canceled.
   */
  state: string;
  renews_at: Date | null;
  /** When it ends, if it was canceled. */
  ends_at: Date | null;
  revision: number;
  age_seconds: number;
}

export const ENDED: readonly string[] = ['canceled', 'incomplete_expired', 'expired'];

const SUBSCRIPTIONS = `select s.id, s.account_id, ${ACCOUNT_STATE}, s.plan_id,
     f.name as plan_name, s.stripe_checkout, s.checkout_url, s.stripe_subscription, s.state,
     s.renews_at, s.ends_at, s.revision, s.stripe_mode, s.stripe_account,
     extract(epoch from clock_now() - s.created_at)::float8 as age_seconds
   from subscriptions s join offers f on f.id = s.plan_id ${joinAccount('s.account_id')}`;

export const readSubscription = queryFirst<[id: string], Subscription>(
  'subscription_read',
  `${SUBSCRIPTIONS} where s.id = $1`,
);

const readNewest = queryFirst<
  [accountId: string, StripeMode | null, account: string | null],
  Subscription
>(
  'subscription_newest',
  `${SUBSCRIPTIONS} where s.account_id = $1 and s.state <> 'expired'
     and ${inScope('s', '$2', '$3')}
   order by s.created_at desc, s.id desc limit 1`,
);

/** The newest subscription, even if it has ended; of any scope if none is given. */
export function subscriptionOf(db: Queryable, accountId: string, scope?: StripeScope) {
  return readNewest(db, accountId, scope?.mode ?? null, scope?.account ?? null);
}
