/** The forms of DER (ITU-T X.690) that a certificate consists of. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const hex = bytes.toString(16);
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.from([0x80 + digits.length]), digits]);
}

export const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts);
export const set = (...parts: Buffer[]) => tagged(0x31, ...parts);
/** A member with an explicit tag. */
export const member = (number: number, part: Buffer) => tagged(0xa0 + number, part);
/** A positive integer of these bytes, whose first bit must be 0. */
export const integer = (bytes: Buffer) => tagged(0x02, bytes);
export const octets = (bytes: Buffer) => tagged(0x04, bytes);
export const bits = (bytes: Buffer, unusedBits = 0) =>
  tagged(0x03, Buffer.from([unusedBits]), bytes);
export const utf8 = (text: string) => tagged(0x0c, Buffer.from(text));
export const TRUE = tagged(0x01, Buffer.from([0xff]));

/** UTCTime: years 1950 to 2049. */
export const utcTime = (at: Date) =>
  tagged(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`));

/** An object identifier, such as 2.5.4.3. */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tagged(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let left = number >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

export const NULL = tagged(0x05);

interface Part {
  /** With its tag and length. */
  whole: Buffer;
  content: Buffer;
}

/** The values that the bytes hold, one after the other, without a truncated last one. */
export function derValues(bytes: Buffer = Buffer.alloc(0)): Part[] {
  const parts: Part[] = [];
  for (let rest = bytes; rest.length >= 2; ) {
    const first = rest[1] ?? 0;
    const digits = first < 0x80 ? 0 : first - 0x80;
    if (first === 0x80 || digits > 4 || rest.length < 2 + digits) break;
    const length = digits === 0 ? first : rest.readUIntBE(2, digits);
    const end = 2 + digits + length;
    if (rest.length < end) break;
    parts.push({ whole: rest.subarray(0, end), content: rest.subarray(2 + digits, end) });
    rest = rest.subarray(end);
  }
  return parts;
}
