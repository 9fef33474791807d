import { randomBytes } from 'node:crypto';
import { noSuch } from './form.ts';
import type { ObjectName, ObjectOf, StripeObject } from './objects.ts';

const PREFIXES: Record<ObjectName, string> = {
  customer: 'cus_',
  payment_method: 'pm_',
  price: 'price_',
  'checkout.session': 'cs_',
  payment_intent: 'pi_',
  charge: 'ch_',
  balance_transaction: 'txn_',
  refund: 're_',
  dispute: 'dp_',
  subscription: 'sub_',
  invoice: 'in_',
  'billing_portal.configuration': 'bpc_',
  'billing_portal.session': 'bps_',
};

export type State = ReturnType<typeof createState>;

/** Tells the owner of the account what happened: an event with the object as it is now. */
export type Emit = (type: string, object: StripeObject) => void;

export function newObjectId(prefix: string): string {
  return prefix + randomBytes(12).toString('hex');
}

const modeOf = (livemode: boolean) => (livemode ? 'live_' : 'test_');

export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The objects that the simulator has made, in memory, of one Stripe account and mode. */
export function createState(
  emit: Emit,
  { account, livemode }: { account: string; livemode: boolean },
) {
  const objects = new Map<string, StripeObject>();
  const isOf = <Name extends ObjectName>(
    object: StripeObject | undefined,
    name: Name,
  ): object is ObjectOf<Name> => object?.object === name;
  return {
    /** The address of the simulator itself. */
    baseUrl: '',
    account,
    livemode,
    emit,
    /** What was set in the dashboard. */
    webhookEndpoints: [] as Array<{ url: string; status: string; enabled_events: string[] }>,
    add<Name extends ObjectName>(
      name: Name,
      members: Omit<ObjectOf<Name>, 'id' | 'object' | 'created' | 'livemode'>,
    ): ObjectOf<Name> {
      const prefix = PREFIXES[name] + (name === 'checkout.session' ? modeOf(livemode) : '');
      const head = { id: newObjectId(prefix), object: name, livemode, created: nowSeconds() };
      const made = { ...head, ...members } as unknown as ObjectOf<Name>;
      objects.set(made.id, made);
      return made;
    },
    /** @throws StripeRefusal if there is none */
    get<Name extends ObjectName>(name: Name, id: string): ObjectOf<Name> {
      const found = objects.get(id);
      if (!isOf(found, name)) throw noSuch(name, id);
      return found;
    },
    /** All of a kind, the newest first. */
    all: <Name extends ObjectName>(name: Name): Array<ObjectOf<Name>> =>
      [...objects.values()].filter((object) => isOf(object, name)).reverse(),
    find: (id: string) => objects.get(id),
  };
}
