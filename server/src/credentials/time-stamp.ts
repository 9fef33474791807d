import { hash, randomBytes } from 'node:crypto';
import { callOnce } from '../outbound/call.ts';
import { derValues, integer, NULL, objectId, octets, sequence, TRUE } from './der.ts';

const SHA256 = sequence(objectId('2.16.840.1.101.3.4.2.1'), NULL);
const VERSION = integer(Buffer.from([1]));
const TIMEOUT_SECONDS = 10;
/** The longest token that fits into the space for a signature. */
export const MAX_TOKEN_BYTES = 10 * 1024;

/**
 * Asks a time stamping authority (RFC 3161) for the proof that these bytes exist.
 * @param url an address that the operator configured
 * @returns the token in DER
 * @throws Error when the authority does not grant it
 */
export async function timeStamp(url: string, signed: Uint8Array): Promise<Buffer> {
  const imprint = sequence(SHA256, octets(hash('sha256', signed, 'buffer')));
  const nonce = integer(Buffer.concat([Buffer.from([1]), randomBytes(8)]));
  const outcome = await callOnce({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/timestamp-query' },
    body: sequence(VERSION, imprint, nonce, TRUE), // TRUE: the token includes certificates
    timeoutSeconds: TIMEOUT_SECONDS,
    maxResponseBytes: 2 * MAX_TOKEN_BYTES,
  });
  if (outcome.kind !== 'responded') throw new Error(`no time stamp: ${outcome.cause}`);
  if (outcome.status !== 200) throw new Error(`no time stamp: HTTP ${outcome.status}`);
  const [status, token] = derValues(derValues(Buffer.from(outcome.body))[0]?.content);
  const [granted] = derValues(status?.content);
  // 0: granted, 1: with modifications.
  if (!token || (granted?.content[0] ?? 2) > 1) throw new Error('no time stamp: it was refused');
  if (token.whole.length > MAX_TOKEN_BYTES) throw new Error('no time stamp: it is too long');
  return token.whole;
}
