import ipaddr from 'ipaddr.js';

const IPV6_BITS = 64;

function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

function networkWith(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const text = `${address.toNormalizedString().replace(/%.*/, '')}/${bits}`;
  return address.kind() === 'ipv6'
    ? ipaddr.IPv6.networkAddressFromCIDR(text).toString()
    : ipaddr.IPv4.networkAddressFromCIDR(text).toString();
}

/** The unit of rate limits per address: an IPv4 address, or an IPv6 /64. */
export function rateKeyOf(address: string): string {
  const ip = parseAddress(address);
  if (!ip) return 'ip:unknown';
  return `ip:${ip.kind() === 'ipv6' ? networkWith(ip, IPV6_BITS) : ip.toString()}`;
}

/** A network that people recognise but that identifies nobody: /24, or /48 for IPv6. */
export function networkOf(address: string): string | null {
  const ip = parseAddress(address);
  if (!ip) return null;
  return ip.kind() === 'ipv6' ? `${networkWith(ip, 48)}/48` : `${networkWith(ip, 24)}/24`;
}
