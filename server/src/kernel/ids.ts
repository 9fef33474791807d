import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const PREFIXES = {
  account: 'acct_',
  apiKey: 'key_',
  task: 'task_',
  attempt: 'att_',
  object: 'obj_',
  request: 'req_',
  session: 'sess_',
  order: 'ord_',
  subscription: 'subs_',
  webhook: 'we_',
  testRefill: 'refill_',
  mail: 'mail_',
  report: 'report_',
  share: 'share_',
} as const;

type IdKind = keyof typeof PREFIXES;

// Random bytes are drawn in blocks: one call to the system's source costs more than making an id.
const drawn = new Uint8Array(4096);
let used = drawn.length;

function randomByte(): number {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const byte = drawn[used] ?? 0;
  drawn[used] = 0; // the byte may become part of a secret: keep no copy
  used += 1;
  return byte;
}

/** `length` characters of base62, drawn without bias from the system's random source. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    const byte = randomByte();
    // 248 is the largest multiple of 62 below 256. Bytes from 248 on would favour some characters.
    if (byte < 248) text += ALPHABET[byte % 62];
  }
  return text;
}

/** The number in base62, padded on the left with `0` to `length` characters. */
export function toBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) {
    text = ALPHABET[rest % 62] + text;
  }
  return text;
}

/**
 * A new id such as `task_0VGq3v9x7Zk3fQ2mR8yT1bNc`: the kind's prefix, the time in milliseconds (so
 * that rows written together are close in an index), then 95 random bits.
 */
export function newId(kind: IdKind): string {
  return PREFIXES[kind] + toBase62(Date.now(), 8) + randomBase62(16);
}

/** When an id was made, in milliseconds since 1970; undefined if the text is no id of the kind. */
export function timeOfId(kind: IdKind, text: string): number | undefined {
  const prefix = PREFIXES[kind];
  if (!text.startsWith(prefix)) return undefined;
  const [time] = /^[0-9A-Za-z]{8}(?=[0-9A-Za-z]{16}$)/.exec(text.slice(prefix.length)) ?? [];
  if (time === undefined) return undefined;
  return [...time].reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0);
}
