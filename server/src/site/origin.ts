import type { FastifyRequest } from 'fastify';
import { ApiError } from '../kernel/errors.ts';

/**
 * Refuses what another site's page makes a browser send. A browser says where a request comes from:
 * by `Origin`, else by `Sec-Fetch-Site`. Requests that only read pass.
 * @param publicUrl the address of this installation
 * @throws ApiError `cross_site`
 */
export function requireOwnOrigin(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  publicUrl: string,
): void {
  if (method === 'GET' || method === 'HEAD') return;
  const { origin } = new URL(publicUrl);
  const isOwn =
    headers.origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : headers.origin === origin;
  if (isOwn) return;
  throw new ApiError('cross_site', `This request must come from a page of ${origin}.`);
}
