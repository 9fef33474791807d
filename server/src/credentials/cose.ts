import type { SigningCertificate } from './certificate.ts';
import type { Algorithm } from './signing-key.ts';
import { MAX_TOKEN_BYTES } from './time-stamp.ts';

/** How COSE names each algorithm (RFC 9053). */
const ALGORITHMS: Record<Algorithm, number> = { es256: -7, es384: -35, ed25519: -8, ps256: -37 };

const ALG = 1;
const X5CHAIN = 33;
const SIGN1_TAG = Buffer.from([0xd2]);
const NIL = Buffer.from([0xf6]);
/** The space for the signature, headers and padding. */
const SPARE_BYTES = 2048;
const LEAST_PADDING = 256;

/** The space for the signature of this certificate, with or without a time stamp. */
export function reservedBytes({ chain }: SigningCertificate, isStamped: boolean): number {
  const certificates = chain.reduce((sum, certificate) => sum + certificate.length + 8, 0);
  return SPARE_BYTES + certificates + (isStamped ? MAX_TOKEN_BYTES : 0);
}

/**
 * Signs a claim: a COSE_Sign1 (RFC 9052) without its payload, padded to `sizeBytes` as C2PA asks,
 * so that the space in the file is filled exactly.
 * @param stamp returns the time stamp of these bytes, if there is one
 */
export async function coseSign(
  claim: Uint8Array,
  certificate: SigningCertificate,
  { sizeBytes, stamp }: { sizeBytes: number; stamp(signed: Buffer): Promise<Buffer | undefined> },
): Promise<Buffer> {
  const id = ALGORITHMS[certificate.algorithm];
  const [leaf = Buffer.alloc(0), ...issuers] = certificate.chain.map(bytes);
  const chain = issuers.length === 0 ? leaf : array(leaf, ...issuers);
  const headers = map(integer(ALG), integer(id), integer(X5CHAIN), chain);
  const structure = (context: string, content: Buffer) =>
    array(text(context), bytes(headers), bytes(), bytes(content));
  const signed = structure('Signature1', Buffer.from(claim));
  const signature = bytes(await certificate.sign(signed));
  const token = await stamp(structure('CounterSignature', signature));
  const stamped = token ? [text('sigTst2'), map(text('tstTokens'), tokens(token))] : [];
  const padded = (zeros: number) => {
    const others = map(text('pad'), bytes(Buffer.alloc(zeros)), ...stamped);
    return Buffer.concat([SIGN1_TAG, array(bytes(headers), others, NIL, signature)]);
  };
  // The length of the padding's own header depends on the padding.
  return padded(sizeBytes - padded(LEAST_PADDING).length + LEAST_PADDING);
}

function tokens(token: Buffer): Buffer {
  return array(map(text('val'), bytes(token)));
}

/** A CBOR head (RFC 8949): the major type, and a number below 65,536. */
function head(type: number, number: number): Buffer {
  if (number < 24) return Buffer.from([(type << 5) | number]);
  if (number < 256) return Buffer.from([(type << 5) | 24, number]);
  return Buffer.from([(type << 5) | 25, number >> 8, number & 255]);
}

const integer = (number: number) => (number < 0 ? head(1, -1 - number) : head(0, number));
const bytes = (content: Buffer = Buffer.alloc(0)) =>
  Buffer.concat([head(2, content.length), content]);
const text = (content: string) => Buffer.concat([head(3, content.length), Buffer.from(content)]);
const array = (...items: Buffer[]) => Buffer.concat([head(4, items.length), ...items]);
const map = (...items: Buffer[]) => Buffer.concat([head(5, items.length / 2), ...items]);
