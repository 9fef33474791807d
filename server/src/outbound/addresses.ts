import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { UsageError } from '../kernel/errors.ts';
import { OutboundError } from './refusal.ts';

/**
 * Hosts that may be reached although they are not public, as `host:port` in the URL standard's
 * spelling: lower case, IPv6 in brackets, no trailing dot.
 */
export type AllowList = ReadonlySet<string>;

/** Public networks that count as not public, because they are the operator's own. */
export type DenyList = BlockList;

export type PortRanges = readonly (readonly [first: number, last: number])[];

/** Which hosts may be reached: public ones, and any `host:port` on the allow list. */
export interface HostRules {
  allow: AllowList;
  /** Public networks that count as not public; none when not given. */
  deny?: DenyList | undefined;
  ports?: PortRanges | undefined;
}

/** Azure's platform endpoint gives out secrets; its address is in the ordinary public range. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * Domains that public DNS does not have: RFC 6761 (localhost), RFC 6762 with its appendix G (local
 * and private ones in common use), RFC 8375 (home.arpa), "internal" (reserved by ICANN in 2024),
 * and "localdomain", a default of many resolvers.
 */
const PRIVATE_DOMAINS = [
  '.localhost',
  '.local',
  '.localdomain',
  '.internal',
  '.intranet',
  '.private',
  '.corp',
  '.home',
  '.lan',
  '.home.arpa',
];

/** Parses, say, `a.example:443,[::1]:8443`. @throws UsageError that names the invalid entry */
export function parseAllowList(text: string): AllowList {
  if (text.trim() === '') return new Set();
  return new Set(text.split(',').map((entry) => parseEntry(entry.trim())));
}

function parseEntry(entry: string): string {
  const [, host = '', portText = ''] =
    /^(\[[\da-f:.]+\]|[^/@?#\\*\s:]+):(\d{1,5})$/i.exec(entry) ?? [];
  const port = Number(portText);
  const url = URL.parse(`https://${host}`);
  const hostname = url?.port === '' ? withoutTrailingDot(url.hostname) : '';
  if (hostname === '' || port < 1 || port > 65535) {
    throw new UsageError(`"${entry}" is not of the form host:port`);
  }
  return `${hostname}:${port}`;
}

/** Parses, say, `203.0.113.7,2a00:1450::/32`. @throws UsageError that names the invalid entry */
export function parseDenyList(text: string): DenyList {
  const list = new BlockList();
  if (text.trim() === '') return list;
  for (const entry of text.split(',')) addNetwork(list, entry.trim());
  return list;
}

function addNetwork(list: DenyList, entry: string): void {
  const [, address = '', prefixText] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(entry) ?? [];
  const version = isIP(address);
  const bits = version === 6 ? 128 : 32;
  const prefix = Number(prefixText ?? bits);
  if (version === 0 || prefix > bits) {
    throw new UsageError(`"${entry}" is not an IP address or a network such as 198.51.100.0/24`);
  }
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
}

/** Parses, say, `443,1024-65535`. @throws UsageError that names the invalid entry */
export function parsePorts(text: string): PortRanges {
  return text.split(',').map((entry) => {
    const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(entry.trim()) ?? [];
    const range = [Number(first), Number(last)] as const;
    if (range[0] >= 1 && range[0] <= range[1] && range[1] <= 65535) return range;
    throw new UsageError(`"${entry.trim()}" is not a port or a range such as 1024-65535`);
  });
}

/**
 * Checks everything about a URL that needs no DNS. Plain http passes only with
 * `plainHttpWhereAllowed`, for a `host:port` on the list.
 * @returns the URL as it will be requested: no trailing dot in the host, no fragment
 * @throws OutboundError malformed_url, not_https, credentials_in_url, port_not_allowed, not_public
 */
export function checkUrl(
  text: string,
  hosts: HostRules,
  options: { plainHttpWhereAllowed?: boolean | undefined } = {},
): URL {
  const url = parseUrl(text);
  const allowed = isAllowed(url, hosts);
  const plainHttp = url.protocol === 'http:' && allowed && options.plainHttpWhereAllowed === true;
  if (url.protocol !== 'https:' && !plainHttp) {
    throw new OutboundError('not_https', 'The URL does not use https');
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError('credentials_in_url', 'The URL contains a user name or a password');
  }
  if (!allowed) requirePort(url, hosts);
  if (!allowed && isKnownPrivate(url, hosts)) throw notPublic();
  return url;
}

function requirePort(url: URL, { ports }: HostRules): void {
  const port = Number(portOf(url));
  if (!ports || ports.some(([first, last]) => port >= first && port <= last)) return;
  const ranges = ports.map(([first, last]) => (first === last ? first : `${first} to ${last}`));
  const message = `The port ${port} is not allowed, only ${ranges.join(', ')}`;
  throw new OutboundError('port_not_allowed', message);
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw malformed();
  url.hash = '';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return url;
  const hostname = withoutTrailingDot(url.hostname);
  if (hostname === '' || hostname.split('.').includes('') || url.port === '0') throw malformed();
  url.hostname = hostname;
  return url;
}

/**
 * Whether a host can't be public, whatever DNS says. That includes names without a dot, which only
 * search domains or the hosts file resolve. All these hosts get the same response, so that clients
 * can't probe private names.
 */
function isKnownPrivate(url: URL, hosts: HostRules): boolean {
  const literal = literalAddress(url);
  if (literal !== undefined) return !mayBeReached(literal, hosts);
  const labels = url.hostname.split('.');
  return labels.length === 1 || PRIVATE_DOMAINS.some((domain) => url.hostname.endsWith(domain));
}

export function isAllowed(url: URL, { allow }: HostRules): boolean {
  return allow.has(hostAndPort(url));
}

/** Plain http exposes what is sent, except to loopback; hosts on the list are the operator's risk. */
export function mayGetSecrets(address: string, hosts: HostRules): boolean {
  const isConfidential = address.startsWith('https:') || isLoopback(address);
  return isConfidential || isAllowed(new URL(address), hosts);
}

export function isLoopback(address: string): boolean {
  return /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
}

/** @throws OutboundError not_public when any of the addresses is neither public nor on the list */
export function checkAddresses(url: URL, addresses: string[], hosts: HostRules): void {
  if (isAllowed(url, hosts)) return;
  const onList = (address: string) => hosts.allow.has(`${bracketed(address)}:${portOf(url)}`);
  if (!addresses.every((address) => mayBeReached(address, hosts) || onList(address))) {
    throw notPublic();
  }
}

function mayBeReached(address: string, { deny }: HostRules): boolean {
  return isPublicAddress(address) && (deny === undefined || !isDenied(address, deny));
}

/** For an address with an embedded IPv4 address, both are checked. */
function isDenied(address: string, deny: DenyList): boolean {
  if (isIP(address) === 4) return deny.check(address, 'ipv4');
  const parsed = ipaddr.parse(address);
  const embedded = parsed instanceof ipaddr.IPv6 ? embeddedIPv4(parsed) : undefined;
  return deny.check(address, 'ipv6') || (embedded !== undefined && deny.check(`${embedded}`));
}

/** The IP address that is a URL's host, without brackets; undefined when its host is a name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Whether an IP address belongs to the public internet: ipaddr.js calls it unicast (by IANA's
 * special-purpose registries), and IPv6 is within 2000::/3, the only block allocated so far. For an
 * IPv4-mapped or NAT64 address (RFC 6052, 64:ff9b::/96), the embedded IPv4 address counts; any
 * other embedding (6to4, Teredo, IPv4-compatible) is not public.
 */
export function isPublicAddress(address: string): boolean {
  // ipaddr.js reads `::8.8.8.8` as `::ffff:8.8.8.8`; the URL standard's spelling is unambiguous
  const spelling = bracketed(address).replace(/^\[|\]$/g, '');
  if (isIP(address) === 0 || !ipaddr.isValid(spelling)) return false;
  const parsed = ipaddr.parse(spelling);
  if (parsed instanceof ipaddr.IPv4) return isPublicIPv4(parsed);
  const embedded = embeddedIPv4(parsed);
  if (embedded !== undefined) return isPublicIPv4(embedded);
  return parsed.range() === 'unicast' && (parsed.parts[0] ?? 0) >> 13 === 1;
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !PLATFORM_ADDRESSES.has(address.toString());
}

function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const range = address.range();
  // ipaddr.js puts the local-use NAT64 prefix 64:ff9b:1::/48 (RFC 8215) into this range too.
  const wellKnownNat64 = range === 'rfc6052' && address.parts[2] === 0;
  if (range !== 'ipv4Mapped' && !wellKnownNat64) return undefined;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

/** The entry of an {@link AllowList} that allows an http or https URL. */
export function hostAndPort(url: URL): string {
  return `${withoutTrailingDot(url.hostname)}:${portOf(url)}`;
}

function portOf(url: URL): string {
  return url.port || (url.protocol === 'http:' ? '80' : '443');
}

/** An IP address as a URL spells it; empty when it has a zone. Other text is parsed as a host name. */
function bracketed(address: string): string {
  return URL.parse(`https://${isIP(address) === 6 ? `[${address}]` : address}`)?.hostname ?? '';
}

function withoutTrailingDot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

function malformed(): OutboundError {
  return new OutboundError('malformed_url', 'The URL is malformed');
}

function notPublic(): OutboundError {
  return new OutboundError('not_public', 'The host does not have a public address');
}
