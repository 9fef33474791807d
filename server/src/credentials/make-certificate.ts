import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  bits,
  integer,
  member,
  objectId,
  octets,
  sequence,
  set,
  TRUE,
  utcTime,
  utf8,
} from './der.ts';

const ECDSA_WITH_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'));
/** Extended key usages: emailProtection, which readers accept, and the C2PA programme's own. */
const USES = ['1.3.6.1.5.5.7.3.4', '1.3.6.1.4.1.62558.2.1'];
const DIGITAL_SIGNATURE = bits(Buffer.from([0x80]), 7);
const SIGNS_CERTIFICATES = bits(Buffer.from([0x04]), 2);

interface MadeCertificate {
  /** PEM: the certificate, then its root, whose key is not kept. */
  chain: string;
  /** PKCS #8 in PEM. */
  privateKey: string;
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Makes a certificate for Content Credentials, issued by a root of its own. */
export function makeCertificate(
  from: Date,
  until: Date,
  leaf: { publicKey: KeyObject; privateKey: KeyObject } = newKeys(),
): MadeCertificate {
  const root = newKeys();
  const issue = (commonName: string, publicKey: KeyObject, extensions: Buffer[]) => {
    const body = sequence(
      member(0, integer(Buffer.from([2]))), // version 3
      integer(Buffer.concat([Buffer.from([0x4d]), randomBytes(15)])),
      ECDSA_WITH_SHA256,
      nameOf(ROOT_NAME),
      sequence(utcTime(from), utcTime(until)),
      nameOf(commonName),
      publicKey.export({ type: 'spki', format: 'der' }),
      member(3, sequence(...extensions)),
    );
    return pem(sequence(body, ECDSA_WITH_SHA256, bits(sign('sha256', body, root.privateKey))));
  };
  const certificate = issue('Content Credentials', leaf.publicKey, [
    critical('2.5.29.19', sequence()), // not a CA
    critical('2.5.29.15', DIGITAL_SIGNATURE),
    extension('2.5.29.37', sequence(...USES.map(objectId))),
    extension('2.5.29.14', octets(keyId(leaf.publicKey))),
    extension('2.5.29.35', sequence(implicitKeyId(root.publicKey))),
  ]);
  const rootCertificate = issue(ROOT_NAME, root.publicKey, [
    critical('2.5.29.19', sequence(TRUE)),
    critical('2.5.29.15', SIGNS_CERTIFICATES),
    extension('2.5.29.14', octets(keyId(root.publicKey))),
  ]);
  const privateKey = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' });
  return { chain: certificate + rootCertificate, privateKey };
}

const ROOT_NAME = 'Content Credentials root';

/** Readers show the organization as the issuer. */
function nameOf(commonName: string): Buffer {
  const attribute = (id: string, text: string) => set(sequence(objectId(id), utf8(text)));
  return sequence(attribute('2.5.4.10', 'Framewright'), attribute('2.5.4.3', commonName));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(objectId(id), octets(value));
}

function critical(id: string, value: Buffer): Buffer {
  return sequence(objectId(id), TRUE, octets(value));
}

function keyId(key: KeyObject): Buffer {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'buffer').subarray(0, 20);
}

/** The key id of an authority: an octet string with the implicit tag 0. */
function implicitKeyId(key: KeyObject): Buffer {
  const id = octets(keyId(key));
  id[0] = 0x80;
  return id;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
