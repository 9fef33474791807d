import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { UsageError } from '../kernel/errors.ts';

export type Algorithm = 'es256' | 'es384' | 'ed25519' | 'ps256';

/** What signs the Content Credentials of videos. */
export interface SigningCertificate {
  algorithm: Algorithm;
  key: KeyObject;
  /** In PEM; the certificate of the key first. */
  pem: string;
  /** DER, without a root: readers bring their own. */
  chain: Buffer[];
  /** SHA-256 of the first certificate, in hex. */
  fingerprint: string;
  expiresAt: Date;
}

const MIN_RSA_BITS = 2048;

/** @throws UsageError that says what to do, when they can't sign Content Credentials */
export function readCertificate(given: { chain: string; privateKey: string }, now: Date) {
  const [leaf, ...issuers] = certificatesIn(given.chain);
  if (!leaf) throw new UsageError('it has no certificate in PEM (-----BEGIN CERTIFICATE-----)');
  const key = privateKeyIn(given.privateKey);
  if (!leaf.checkPrivateKey(key)) {
    throw new UsageError(
      'the private key is not that of the first certificate: give both of the same request, and ' +
        'the certificate before those of its issuers',
    );
  }
  if (leaf.validToDate <= now) {
    throw new UsageError(`it expired on ${leaf.validTo}: give the renewed certificate and its key`);
  }
  if (leaf.validFromDate > now) {
    throw new UsageError(`it is valid from ${leaf.validFrom} only: check this machine's clock`);
  }
  if (leaf.ca || isSelfSigned(leaf)) {
    throw new UsageError(
      'the first certificate is that of a CA: put the certificate that it issued to you first',
    );
  }
  return {
    algorithm: algorithmOf(key),
    key,
    pem: given.chain,
    chain: [leaf, ...issuers.filter((issuer) => !isSelfSigned(issuer))].map(({ raw }) => raw),
    fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    expiresAt: leaf.validToDate,
  } satisfies SigningCertificate;
}

export function certificatesIn(pem: string): X509Certificate[] {
  const parts = pem.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [];
  try {
    return parts.map((part) => new X509Certificate(part));
  } catch (error) {
    throw new UsageError('it has a certificate that can not be read', { cause: error });
  }
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate);
}

// The cause is left out: it might show a part of the key.
function privateKeyIn(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new UsageError(
      'the private key can not be read: expected PEM without a passphrase ' +
        '(openssl pkey -in KEY -out NEW_KEY removes one)',
    );
  }
}

const CURVES: Record<string, Algorithm> = { prime256v1: 'es256', secp384r1: 'es384' };

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject) {
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
