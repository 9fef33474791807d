import { BlockList, isIP } from 'node:net';
import { UsageError } from '../kernel/errors.ts';

/** Public networks that count as not public, because they are the operator's own. */
export type DenyList = BlockList;

/**
 * Parses a deny list: addresses and networks such as `203.0.113.7,198.51.100.0/24,2a00:1450::/32`.
 * Empty text denies no network.
 * @throws UsageError that names the invalid entry
 */
export function parseDenyList(text: string): DenyList {
  const list = new BlockList();
  if (text.trim() === '') return list;
  for (const entry of text.split(',')) add(list, entry.trim());
  return list;
}

function add(list: DenyList, entry: string): void {
  const [, address = '', prefixText] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(entry) ?? [];
  const version = isIP(address);
  const bits = version === 6 ? 128 : 32;
  const prefix = Number(prefixText ?? bits);
  if (version === 0 || prefix > bits) {
    throw new UsageError(`"${entry}" is not an IP address or a network such as 198.51.100.0/24`);
  }
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
}
