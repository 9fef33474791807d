import { invalid, noSuch, type Params, required } from './form.ts';
import type { ObjectName, ObjectOf, Price } from './objects.ts';
import type { State } from './state.ts';
import { endSubscription } from './subscriptions.ts';

/** The object that a parameter names. */
export function named<Name extends ObjectName>(
  state: State,
  name: Name,
  { id, param }: { id: string; param: string },
): ObjectOf<Name> {
  const found = state.all(name).find((one) => one.id === id);
  if (!found || ('deleted' in found && found.deleted)) throw noSuch(name, id, param);
  return found;
}

/** The customer of a call, who is not deleted. */
export function customerOf(state: State, params: Params): ObjectOf<'customer'> {
  return named(state, 'customer', { id: required(params, 'customer'), param: 'customer' });
}

/** A price that can still be bought. */
export function activePrice(state: State, id: string, param: string): Price {
  const price = named(state, 'price', { id, param });
  if (price.active) return price;
  throw invalid('The price specified is inactive. This field only accepts active prices.');
}

/** Deletes a customer and its cards, and ends its subscriptions. It can be read as deleted. */
export function deleteCustomer(state: State, id: string): object {
  const customer = state.get('customer', id);
  customer.deleted = true;
  customer.invoice_settings.default_payment_method = null;
  for (const one of state.all('subscription')) {
    if (one.customer === id && one.status !== 'canceled') endSubscription(state, one.id);
  }
  return { id, object: 'customer', deleted: true };
}
