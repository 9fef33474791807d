import { constants, type SignKeyObjectInput, sign } from 'node:crypto';
import type { Algorithm, SigningCertificate } from './certificate.ts';

/** How each algorithm is named in COSE (RFC 9053), and how Node signs with it. */
const ALGORITHMS: Record<
  Algorithm,
  { id: number; digest: string | null; options?: Omit<SignKeyObjectInput, 'key'> }
> = {
  es256: { id: -7, digest: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  es384: { id: -35, digest: 'sha384', options: { dsaEncoding: 'ieee-p1363' } },
  ed25519: { id: -8, digest: null },
  ps256: {
    id: -37,
    digest: 'sha256',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
  },
};

const ALG = 1;
const X5CHAIN = 33;
const SIGN1_TAG = Buffer.from([0xd2]);
const NIL = Buffer.from([0xf6]);
/** For the signature, headers and padding. */
const SPARE_BYTES = 2048;

/** How long the signature of this certificate is. */
export function reservedBytes({ chain }: SigningCertificate): number {
  return SPARE_BYTES + chain.reduce((sum, one) => sum + one.length + 8, 0);
}

/**
 * Signs a claim: a COSE_Sign1 (RFC 9052) without its payload, padded to {@link reservedBytes} as
 * C2PA asks, so that the space in the file is filled exactly.
 */
export function coseSign(claim: Uint8Array, certificate: SigningCertificate): Buffer {
  const { id, digest, options } = ALGORITHMS[certificate.algorithm];
  const [leaf = Buffer.alloc(0), ...issuers] = certificate.chain.map(bytes);
  const chain = issuers.length === 0 ? leaf : array(leaf, ...issuers);
  const headers = map(integer(ALG), integer(id), integer(X5CHAIN), chain);
  const signed = array(text('Signature1'), bytes(headers), bytes(), bytes(Buffer.from(claim)));
  const signature = sign(digest, signed, { key: certificate.key, ...options });
  const padded = (zeros: number) =>
    Buffer.concat([
      SIGN1_TAG,
      array(bytes(headers), map(text('pad'), bytes(Buffer.alloc(zeros))), NIL, bytes(signature)),
    ]);
  const wanted = reservedBytes(certificate);
  // The length of the padding's own header depends on the padding.
  const zeros = wanted - padded(SPARE_BYTES / 8).length + SPARE_BYTES / 8;
  return padded(zeros);
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
