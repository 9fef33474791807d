import {
  constants,
  createPrivateKey,
  type KeyObject,
  type SignKeyObjectInput,
  sign,
  verify,
} from 'node:crypto';
import { UsageError } from '../kernel/errors.ts';
import { callOnce } from '../outbound/call.ts';

export type Algorithm = 'es256' | 'es384' | 'ed25519' | 'ps256';

/** @returns the raw signature, as COSE has it (RFC 9053) */
export type Sign = (bytes: Buffer) => Promise<Buffer>;

/** How Node signs by each algorithm. */
const METHODS: Record<
  Algorithm,
  { digest: string | null; options?: Omit<SignKeyObjectInput, 'key'> }
> = {
  es256: { digest: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  es384: { digest: 'sha384', options: { dsaEncoding: 'ieee-p1363' } },
  ed25519: { digest: null },
  ps256: {
    digest: 'sha256',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
  },
};

export function signBy(key: KeyObject, algorithm: Algorithm): Sign {
  const { digest, options } = METHODS[algorithm];
  return async (bytes) => sign(digest, bytes, { key, ...options });
}

/**
 * A service that holds the private key, such as one in front of a KMS. It answers a POST of bytes
 * with their signature, like a remote signer of c2pa-rs.
 */
export interface SigningService {
  url: string;
  token: string | undefined;
}

const TIMEOUT_SECONDS = 10;
/** Longer than the signature of the longest RSA key. */
const MAX_SIGNATURE_BYTES = 2048;

/** Signs by a service, and fails unless the signature is by the key of the certificate. */
export function signByService(
  { url, token }: SigningService,
  publicKey: KeyObject,
  algorithm: Algorithm,
): Sign {
  const { digest, options } = METHODS[algorithm];
  return async (bytes) => {
    const outcome = await callOnce({
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/octet-stream',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: bytes,
      timeoutSeconds: TIMEOUT_SECONDS,
      maxResponseBytes: MAX_SIGNATURE_BYTES,
    });
    if (outcome.kind !== 'responded') throw new Error(`the signing service: ${outcome.cause}`);
    if (outcome.status !== 200) throw new Error(`the signing service: HTTP ${outcome.status}`);
    if (!verify(digest, bytes, { key: publicKey, ...options }, outcome.body)) {
      throw new Error('the signing service: not a raw signature by the key of the certificate');
    }
    return Buffer.from(outcome.body);
  };
}

// The cause is left out: it might show a part of the key.
export function privateKeyIn(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new UsageError(
      'the private key can not be read: expected PEM without a passphrase ' +
        '(openssl pkey -in KEY -out NEW_KEY removes one)',
    );
  }
}

const MIN_RSA_BITS = 2048;
const CURVES: Record<string, Algorithm> = { prime256v1: 'es256', secp384r1: 'es384' };

/** @throws UsageError when a key of this kind can't sign Content Credentials */
export function algorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details = {},
}: KeyObject): Algorithm {
  const curve = CURVES[details.namedCurve ?? ''];
  if (type === 'ec' && curve) return curve;
  if (type === 'ed25519') return 'ed25519';
  const isRsa = type === 'rsa' || type === 'rsa-pss';
  if (isRsa && (details.modulusLength ?? 0) >= MIN_RSA_BITS) return 'ps256';
  const found = details.namedCurve ?? `${type} ${details.modulusLength ?? ''}`.trim();
  throw new UsageError(
    `its key (${found}) can not sign Content Credentials: expected P-256, P-384, Ed25519, or RSA ` +
      `of at least ${MIN_RSA_BITS} bits`,
  );
}
