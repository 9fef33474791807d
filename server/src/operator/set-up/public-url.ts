import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { Database } from '../../database/database.ts';
import { isPublicAddress } from '../../outbound/addresses.ts';
import { type Call, callOnce } from '../../outbound/call.ts';
import { createSystemLookup, type Resolve } from '../../outbound/host-lookup.ts';
import { listActions, performAction } from '../actions.ts';
import { type Check, notChecked, type SetUp, toDo } from './set-up.ts';

const TIMEOUT_SECONDS = 10;
const DAY_SECONDS = 86_400;
/** Proxies renew a certificate about a month before its end. */
const MIN_CERTIFICATE_DAYS = 14;
/** For how long a visit proves that the service can be reached. */
const VISIT_DAYS = 7;
const VISITED = 'reached from outside';
const OWN_REQUEST_ID = /^req_/;

const PROXY = 'Let DNS and the proxy lead PUBLIC_URL to this service, all paths unchanged.';

/** The checks of PUBLIC_URL, in the order in which failures are fixed. */
export const PUBLIC_URL_CHECKS: Check[] = [
  {
    name: 'PUBLIC_URL',
    todo: 'Set PUBLIC_URL to the https address of your domain.',
    async run({ publicUrl }) {
      if (publicUrl.startsWith('https:')) return publicUrl;
      return toDo(`${publicUrl} is not https`);
    },
  },
  {
    name: 'DNS of PUBLIC_URL',
    todo: 'Make a DNS record (A, AAAA) for it, with the address of the server.',
    async run({ publicUrl, resolve }) {
      const addresses = await addressesOf(publicUrl, resolve);
      if (addresses.some(isPublicAddress)) return addresses.join(', ');
      const todo = 'Make a DNS record (A, AAAA) with the public address of the server.';
      return toDo(`no public address: ${addresses.join(', ')}`, todo);
    },
  },
  {
    name: 'certificate of PUBLIC_URL',
    todo: 'Let the proxy get a certificate for its name: see deploy/README.md.',
    async run({ publicUrl, ca, now }) {
      const url = new URL(publicUrl);
      if (url.protocol !== 'https:') return notChecked('it is not https', 'Set PUBLIC_URL.');
      const until = await certificateEnd(url, ca);
      const found = `valid until ${until.toISOString().slice(0, 10)}`;
      if (until.getTime() - now() > MIN_CERTIFICATE_DAYS * DAY_SECONDS * 1000) return found;
      return toDo(found, 'Renew it, and find out why the proxy did not.');
    },
  },
  {
    name: 'service at PUBLIC_URL',
    todo: PROXY,
    async run(setUp) {
      const { url, signature } = setUp.links.linkToSetUp('doctor', setUp.now() / 1000);
      const { status, json } = await callService(setUp, { url, method: 'GET' });
      if (status === 200 && setUp.links.isProof(String(json.proof), signature)) {
        return 'this installation responds';
      }
      return toDo(`something else responds (HTTP ${status})`);
    },
  },
  {
    name: 'reached from outside',
    todo: PROXY,
    async run({ db, links, publicUrl, now }) {
      const [visit] = await listActions(db, { target: publicUrl, limit: 1 });
      const age = visit && now() - visit.at.getTime();
      if (age !== undefined && age < VISIT_DAYS * DAY_SECONDS * 1000) {
        return `a request came from outside at ${visit?.at.toISOString()}`;
      }
      const { url } = links.linkToSetUp('visitor', now() / 1000);
      const todo = `Open this within an hour outside your network, such as on a phone: ${url}`;
      return notChecked('no request has come from outside lately', todo);
    },
  },
  {
    name: 'callbacks',
    todo: PROXY,
    async run(setUp) {
      // These calls have no valid token or signature: the service itself must refuse them.
      const refusals = {
        '/callbacks/set-up/none': 404,
        ...(setUp.stripe && { '/webhooks/stripe': 400 }),
      };
      for (const [path, expected] of Object.entries(refusals)) {
        const url = setUp.publicUrl + path;
        const { status, requestId } = await callService(setUp, { url, method: 'POST', body: '{}' });
        if (status === expected && OWN_REQUEST_ID.test(requestId)) continue;
        return toDo(`a POST to ${path} does not reach the service (HTTP ${status})`);
      }
      return `a POST to ${Object.keys(refusals).join(' and ')} reaches the service`;
    },
  },
];

async function callService({ ca }: Pick<SetUp, 'ca'>, call: Pick<Call, 'url' | 'method' | 'body'>) {
  const headers = { 'content-type': 'application/json' };
  const response = await callOnce({ ...call, ca, headers, timeoutSeconds: TIMEOUT_SECONDS });
  if (response.kind !== 'responded') throw new Error(response.cause);
  const { status, body } = response;
  const requestId = response.headers['x-request-id'] ?? '';
  return { status, requestId, json: jsonIn(Buffer.from(body).toString()) };
}

function jsonIn(text: string): { proof?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

async function addressesOf(publicUrl: string, resolve: Resolve): Promise<string[]> {
  const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
  return (await resolve(new URL(publicUrl).hostname, signal)).map(({ address }) => address);
}

/** @throws Error that says why clients will not trust it */
async function certificateEnd({ hostname, port }: URL, ca: string | undefined): Promise<Date> {
  const socket = connect({
    host: hostname,
    port: Number(port || 443),
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ...(ca !== undefined && { ca }),
  });
  try {
    const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
    await once(socket, 'secureConnect', { signal }).catch((error: Error) => {
      throw signal.aborted ? new Error(`no TLS handshake within ${TIMEOUT_SECONDS} s`) : error;
    });
    return new Date(socket.getPeerCertificate().valid_to);
  } finally {
    socket.destroy();
  }
}

/**
 * Records, at most once a day, that a request came from outside: from a public address that is not
 * the service's own. @returns whether this one did
 */
export async function recordVisit(db: Database, publicUrl: string, address: string) {
  if (!isPublicAddress(address)) return false;
  const own = await addressesOf(publicUrl, createSystemLookup()).catch((): string[] => []);
  if (own.includes(address)) return false;
  const [latest] = await listActions(db, { target: publicUrl, limit: 1 });
  const isRecent = latest !== undefined && Date.now() - latest.at.getTime() < DAY_SECONDS * 1000;
  const action = { command: VISITED, actor: 'a visitor', reason: null };
  await performAction(db, action, { target: publicUrl }, async () => ({ changed: !isRecent }));
  return true;
}
