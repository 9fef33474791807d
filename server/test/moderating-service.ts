import type { ServerResponse } from 'node:http';
import { startWebhookReceiver } from './service/webhook-receiver.ts';

type Respond = (response: ServerResponse) => unknown;

/** A response with this JSON, or text. */
export function saying(body: unknown, status = 200): Respond {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status).end(text);
}

export const ALLOW = saying({ verdict: 'allow' });
export const DENY = saying({ verdict: 'deny', reason: 'no weapons.' });
export const REVIEW = saying({ verdict: 'review', reason: 'a real person' });

/** Ways in which a service gives no verdict. */
export const NO_VERDICT: Record<string, Respond> = {
  failing: saying({ verdict: 'allow' }, 500),
  redirecting: (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  lying: saying({ verdict: 'maybe' }),
  'wrongly typed': saying({ verdict: ['allow'] }),
  'an error': saying({ error: { message: 'overloaded' } }),
  garbled: saying('allow'),
  huge: saying(`${' '.repeat(70_000)}{"verdict":"allow"}`),
  'cut off': (response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{"verdict":');
    response.destroy();
  },
  dead: (response) => response.destroy(),
  slow: () => {},
  dripping: (response) => response.writeHead(200).write('{"verdict":"allow"'),
};

/** A service that moderates, on the loopback. `says` sets how it responds from now on. */
export async function startModeratingService() {
  let respond: Respond = ALLOW;
  const receiver = await startWebhookReceiver((response) => respond(response));
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  return {
    ...receiver,
    secret,
    says(next: Respond) {
      respond = next;
    },
    /** The variables of a service that asks it. */
    env: {
      MODERATION_URL: receiver.url,
      MODERATION_SECRET: secret,
      OUTBOUND_ALLOW: receiver.host,
    },
  };
}
