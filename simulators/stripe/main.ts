import { parseArgs } from 'node:util';
import { newObjectId } from './state.ts';
import { startSimulatedStripe } from './stripe.ts';

// Serves until it is killed. What it has sold is in memory: for trials only.
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '12111' },
    webhook: { type: 'string', default: 'http://127.0.0.1:8080/webhooks/stripe' },
    secret: { type: 'string', default: newObjectId('whsec_') },
    lost: { type: 'string', default: '0' },
    twice: { type: 'string', default: '0' },
    late: { type: 'string', default: '0' },
  },
});
const running = await startSimulatedStripe({ port: Number(values.port) });
running.webhooks.to = { url: values.webhook, secret: values.secret };
running.webhooks.delivery = {
  lost: Number(values.lost),
  twice: Number(values.twice),
  lateMs: Number(values.late),
};
console.log(`stripe simulator listens at ${running.url}
It sends its events to ${values.webhook}. Start the service with these variables:
STRIPE_SECRET_KEY=sk_test_simulator
STRIPE_WEBHOOK_SECRET=${values.secret}
STRIPE_BASE_URL=${running.url}`);
