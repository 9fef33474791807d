import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StripeEvent, StripeObject } from './objects.ts';
import { newObjectId, nowSeconds } from './state.ts';

/** How badly events are sent: shares from 0 to 1. */
interface Delivery {
  lost: number;
  twice: number;
  /** How late an event may be, so that they overtake each other. */
  lateMs: number;
}

/** That of the package `stripe` which the service uses. */
const API_VERSION = '2026-10-28.endive';

type Target = { url: string; secret: string } | undefined;

const WELL: Delivery = { lost: 0, twice: 0, lateMs: 0 };

/** @param chance a number from 0, below 1 */
export function createWebhooks(chance: () => number) {
  const events: StripeEvent[] = [];
  const onTheWay = new Set<Promise<void>>();
  let held: StripeEvent[] | undefined;
  const webhooks = {
    /** Where events go to; undefined: nowhere. */
    to: undefined as Target,
    delivery: WELL,
    /** The API version of the endpoint. Before 2025-03-31, invoices have an older form. */
    version: API_VERSION,
    events,
    emit(type: string, object: StripeObject): void {
      // As it is now: later changes of the object have events of their own.
      const data = { object: inVersion(webhooks.version, structuredClone(object)) };
      const id = newObjectId('evt_');
      const { livemode } = object;
      const head = { id, object: 'event', api_version: webhooks.version, livemode } as const;
      const event: StripeEvent = { ...head, created: nowSeconds(), type, data };
      events.push(event);
      if (held) held.push(event);
      else deliver(event);
    },
    /** Keeps all events back, until they are released. */
    hold(): void {
      held ??= [];
    },
    release(): void {
      const late = held ?? [];
      held = undefined;
      for (const event of late) deliver(event);
    },
    /** Sends an event once more. */
    send: (event: StripeEvent) => send(webhooks.to, event),
    /** Waits until all that is on its way has arrived. */
    async idle(): Promise<void> {
      while (onTheWay.size > 0) await Promise.all(onTheWay);
    },
  };
  /** On its way, unless it is lost. */
  function deliver(event: StripeEvent): void {
    const { lost, twice, lateMs } = webhooks.delivery;
    if (chance() < lost) return;
    for (let copy = chance() < twice ? 2 : 1; copy > 0; copy -= 1) {
      const arrival = delay(chance() * lateMs).then(() => webhooks.send(event));
      onTheWay.add(arrival);
      void arrival.finally(() => onTheWay.delete(arrival));
    }
  }
  return webhooks;
}

/** An object in the form of an API version. */
function inVersion(version: string, object: StripeObject): object {
  if (object.object !== 'invoice' || version >= '2025-03-31') return object;
  const { parent, ...invoice } = object;
  const { subscription, metadata } = parent.subscription_details;
  const isOldest = version < '2023'; // without the metadata of the subscription
  return { ...invoice, subscription, ...(!isOldest && { subscription_details: { metadata } }) };
}

/** Stripe sends again what was not answered with 2xx; here that is three times, at once. */
async function send(to: Target, event: StripeEvent): Promise<void> {
  if (!to) return;
  const body = JSON.stringify(event);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': signature(body, to.secret),
    };
    const response = await fetch(to.url, { method: 'POST', headers, body }).catch(() => undefined);
    await response?.arrayBuffer().catch(() => undefined);
    if (response?.ok) return;
    await delay(50);
  }
}

/** The `Stripe-Signature` of a body. */
export function signature(body: string, secret: string, seconds = nowSeconds()): string {
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${digest}`;
}
