import { UsageError } from '../kernel/errors.ts';
import { type Environment, namingVariables, read } from '../kernel/variables.ts';
import { parseDenyList } from '../outbound/deny-list.ts';

/** The settings of the website. */
export interface WebsiteSettings {
  /** The e-mail addresses of operators, in lower case. */
  adminEmails: ReadonlySet<string>;
  /** The proxies in front of the service, as fastify takes them; undefined: there is none. */
  trustedProxies: string | undefined;
}

function listOf(env: Environment, name: string): string[] {
  const entries = read(env, name, '').split(',');
  return entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
}

function adminEmails(env: Environment): ReadonlySet<string> {
  const addresses = listOf(env, 'ADMIN_EMAILS').map((address) => address.toLowerCase());
  const wrong = addresses.find((address) => !/^[^\s@]+@[^\s@]+$/.test(address));
  if (wrong !== undefined) {
    throw new UsageError(`ADMIN_EMAILS: ${JSON.stringify(wrong)} is not an e-mail address`);
  }
  return new Set(addresses);
}

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

function trustedProxies(env: Environment): string | undefined {
  const entries = listOf(env, 'TRUST_PROXY');
  const networks = entries.filter((entry) => !NAMED_NETWORKS.includes(entry));
  namingVariables('TRUST_PROXY', () => parseDenyList(networks.join(',')));
  return entries.length === 0 ? undefined : entries.join(',');
}

/** @throws UsageError, one line that names the variable, when a value is malformed */
export function readWebsite(env: Environment): WebsiteSettings {
  return { adminEmails: adminEmails(env), trustedProxies: trustedProxies(env) };
}
