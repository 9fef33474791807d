import { UsageError } from '../kernel/errors.ts';
import {
  choice,
  type Environment,
  namingVariables,
  number,
  read,
  secret,
  webAddress,
  wholeNumber,
} from '../kernel/variables.ts';
import type { MailSettings } from '../mail/mailer.ts';
import { parseDenyList } from '../outbound/addresses.ts';
import type { IssuerSettings } from '../sign-in/issuers/configured-issuers.ts';
import type { OidcSettings } from '../sign-in/issuers/oidc.ts';

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

function mail(env: Environment): MailSettings | undefined {
  const text = read(env, 'SMTP_URL', '');
  const from = read(env, 'MAIL_FROM', '');
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    // Without the value, which may contain a password.
    throw new UsageError('SMTP_URL is not valid: expected smtps://user:password@host:port');
  }
  if (!/^[^\s@<>]+@[^\s@<>]+$|^[^<>@\n]*<[^\s@<>]+@[^\s@<>]+>$/.test(from)) {
    throw new UsageError(
      'MAIL_FROM must be set with SMTP_URL: expected an address such as ' +
        'Video <no-reply@example.com>',
    );
  }
  const isTls = url.protocol === 'smtps:';
  const user = decodeURIComponent(url.username);
  return {
    host: url.hostname,
    port: Number(url.port) || (isTls ? 465 : 587),
    isTls,
    from,
    login: user === '' ? undefined : { user, pass: decodeURIComponent(url.password) },
  };
}

function clientCredentials(env: Environment, name: string) {
  const clientId = secret(env, `${name}_CLIENT_ID`);
  const clientSecret = secret(env, `${name}_CLIENT_SECRET`);
  if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret };
  if (clientId === undefined && clientSecret === undefined) return undefined;
  throw new UsageError(`${name}_CLIENT_ID and ${name}_CLIENT_SECRET must be set together`);
}

/** An https URL, or http on this machine. */
function safeAddress(env: Environment, name: string): string | undefined {
  const address = webAddress(env, name);
  if (address === undefined || address.startsWith('https:')) return address;
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(address).hostname)) return address;
  throw new UsageError(`${name} must be an https address, unless it is on this machine`);
}

function oidc(env: Environment): OidcSettings | undefined {
  // Kept as written: it is compared verbatim, trailing slash included.
  const issuer = safeAddress(env, 'OIDC_ISSUER') && read(env, 'OIDC_ISSUER', '');
  const credentials = clientCredentials(env, 'OIDC');
  if (issuer !== undefined && credentials) return { issuer, ...credentials };
  if (issuer === undefined && !credentials) return undefined;
  throw new UsageError('OIDC_ISSUER and OIDC_CLIENT_ID must be set together');
}

function issuerSettings(env: Environment): IssuerSettings {
  const github = clientCredentials(env, 'GITHUB');
  const google = clientCredentials(env, 'GOOGLE');
  const url = safeAddress(env, 'GITHUB_URL') ?? 'https://github.com';
  return {
    github: github && { url, ...github },
    google: google && { issuer: 'https://accounts.google.com', ...google },
    oidc: oidc(env),
  };
}

export function readWebsite(env: Environment) {
  return {
    /** Operators' e-mail addresses, in lower case. */
    adminEmails: adminEmails(env),
    /** The trusted reverse proxies, in Fastify's format; undefined: none. */
    trustedProxies: trustedProxies(env),
    signupCredits: wholeNumber(env, 'SIGNUP_CREDITS', 0, { min: 0, max: 1_000_000 }),
    mail: mail(env),
    reportDays: wholeNumber(env, 'REPORT_DAYS', 90, { min: 1, max: 3650 }),
    /** Daily traffic of a shared video, in bytes; undefined: nothing is shared. */
    shareBytes:
      choice(env, 'SHARES', 'on', ['on', 'off']) === 'on'
        ? number(env, 'SHARE_DAILY_GB', 10, { max: 1e6 }) * 1e9
        : undefined,
    issuers: issuerSettings(env),
    docsEditUrl: safeAddress(env, 'DOCS_EDIT_URL'),
  };
}
