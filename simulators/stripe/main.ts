import { readCommandLine } from '../kit/options.ts';
import { newObjectId } from './state.ts';
import { startSimulatedStripe } from './stripe.ts';

const HOOK_URL = 'http://127.0.0.1:8080/webhooks/stripe';
const about = 'Simulates Stripe. What it has sold is in memory: for trials and tests only.';
const line = readCommandLine('stripe/main.ts', about, {
  port: { value: 'N', default: '12111', about: 'its port; 0 picks a free one' },
  webhook: { value: 'URL', default: HOOK_URL, about: 'where it sends its events' },
  secret: { value: 'whsec_...', default: '', about: 'signs its events; without it, a new one' },
});
const webhook = { url: line.text('webhook'), secret: line.text('secret') || newObjectId('whsec_') };
const running = await startSimulatedStripe({ port: line.number('port') });
running.webhooks.to = webhook;
console.log(`stripe simulator listens at ${running.url}
It sends its events to ${webhook.url}. Start the service with these variables:
STRIPE_SECRET_KEY=sk_test_simulator
STRIPE_WEBHOOK_SECRET=${webhook.secret}
STRIPE_BASE_URL=${running.url}`);
