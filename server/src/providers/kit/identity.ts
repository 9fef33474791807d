import { createHash } from 'node:crypto';

/**
 * A digest of everything that decides where a provider's jobs are created and found: its address,
 * the account's key, its models. See {@link Provider.identity}.
 */
export function identityOf(...decisive: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex').slice(0, 24);
}
