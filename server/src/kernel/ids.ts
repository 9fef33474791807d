import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const PREFIXES = {
  account: 'acct_',
  apiKey: 'key_',
  task: 'task_',
  attempt: 'att_',
  object: 'obj_',
  request: 'req_',
} as const;

export type IdKind = keyof typeof PREFIXES;

/** `length` characters of base62, drawn without bias from the system's random source. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 below 256: above it the low characters would be favoured.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

/** A number of base62, padded on the left with `0` to `length` characters. */
export function toBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) {
    text = ALPHABET[rest % 62] + text;
  }
  return text;
}

/**
 * A fresh id such as `task_01kq3v9x0a7Zk3fQ2mR8yT1bNc`: the kind's prefix, the creation time in
 * milliseconds (so that rows written together lie together in an index), then 95 random bits.
 */
export function newId(kind: IdKind): string {
  return PREFIXES[kind] + toBase62(Date.now(), 8) + randomBase62(16);
}
