import { X509Certificate } from 'node:crypto';
import { UsageError } from '../kernel/errors.ts';
import {
  type Algorithm,
  algorithmOf,
  privateKeyIn,
  type Sign,
  type SigningService,
  signBy,
  signByService,
} from './signing-key.ts';

/** What signs the Content Credentials of videos. */
export interface SigningCertificate {
  algorithm: Algorithm;
  sign: Sign;
  /** In PEM; the certificate of the key first. */
  pem: string;
  /** DER, without a root: readers bring their own. */
  chain: Buffer[];
  /** SHA-256 of the first certificate, in hex. */
  fingerprint: string;
  expiresAt: Date;
}

/** A chain in PEM, and its key in PEM, or the service that has the key. */
type Given = { chain: string } & ({ privateKey: string } | { service: SigningService });

/** @throws UsageError that says what to do, when they can't sign Content Credentials */
export function readCertificate(given: Given, now: Date): SigningCertificate {
  const [leaf, ...issuers] = certificatesIn(given.chain);
  if (!leaf) throw new UsageError('it has no certificate in PEM (-----BEGIN CERTIFICATE-----)');
  const algorithm = algorithmOf(leaf.publicKey);
  const sign = signOf(given, leaf, algorithm);
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
    algorithm,
    sign,
    pem: given.chain,
    chain: [leaf, ...issuers.filter((issuer) => !isSelfSigned(issuer))].map(({ raw }) => raw),
    fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    expiresAt: leaf.validToDate,
  };
}

function signOf(given: Given, leaf: X509Certificate, algorithm: Algorithm): Sign {
  if ('service' in given) return signByService(given.service, leaf.publicKey, algorithm);
  const key = privateKeyIn(given.privateKey);
  if (leaf.checkPrivateKey(key)) return signBy(key, algorithm);
  throw new UsageError(
    'the private key is not that of the first certificate: give both of the same request, and ' +
      'the certificate before those of its issuers',
  );
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
