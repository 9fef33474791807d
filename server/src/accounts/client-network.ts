import ipaddr from 'ipaddr.js';

/** The parts of an IPv6 address that one customer usually has to itself. */
const IPV6_BITS = 64;

function parsed(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

function networkWith(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const text = `${address.toNormalizedString().replace(/%.*/, '')}/${bits}`;
  return address.kind() === 'ipv6'
    ? ipaddr.IPv6.networkAddressFromCIDR(text).toString()
    : ipaddr.IPv4.networkAddressFromCIDR(text).toString();
}

/** Whose requests are counted together: an IPv4 address, or the /64 of an IPv6 address. */
export function rateKeyOf(address: string): string {
  const ip = parsed(address);
  if (!ip) return 'ip:unknown';
  return `ip:${ip.kind() === 'ipv6' ? networkWith(ip, IPV6_BITS) : ip.toString()}`;
}

/** A coarse address that people recognise and that names nobody: /24, or /48 of IPv6. */
export function networkOf(address: string): string | null {
  const ip = parsed(address);
  if (!ip) return null;
  return ip.kind() === 'ipv6' ? `${networkWith(ip, 48)}/48` : `${networkWith(ip, 24)}/24`;
}
