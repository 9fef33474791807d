import { createHash } from 'node:crypto';

/**
 * A digest of all that decides where a provider's jobs are made and looked for: its address, its
 * account's key, its models. See {@link Provider.identity}.
 */
export function identityOf(...decisive: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex').slice(0, 24);
}
