import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, statement } from '../kernel/database.ts';
import { ApiError } from '../kernel/errors.ts';

/** Makes and checks the signed, expiring addresses under `/media/`. */
export interface Links {
  /** A link to an object that works for the delivery time, counted from the database's now. */
  linkTo(objectId: string, nowSeconds: number): string;
  /**
   * @returns when the link expires, in seconds since 1970: the caller compares with the database
   * @throws ApiError `link_invalid` (forged or cut)
   */
  expiryOf(objectId: string, query: { expires?: string; signature?: string }): number;
}

const PUBLISH = statement(
  'delivery_secret_publish',
  'insert into delivery_secrets (id, secret) values (1, $1) on conflict do nothing',
);
const READ = statement(
  'delivery_secret_read',
  'select secret from delivery_secrets order by id desc',
);

/**
 * Reads the signing secrets that all processes share; the first process ever makes one.
 * @param options.publicUrl where clients reach the service; without a slash at its end
 */
export async function openLinks(options: {
  db: Database;
  publicUrl(): string;
  deliverySeconds: number;
}): Promise<Links> {
  await options.db.query(PUBLISH, [randomBytes(32)]);
  const secrets = (await options.db.query<{ secret: Buffer }>(READ)).map((row) => row.secret);
  const [newest] = secrets;
  if (!newest) throw new Error('there is no delivery secret');
  return {
    linkTo(objectId, nowSeconds) {
      const expires = Math.floor(nowSeconds + options.deliverySeconds);
      const signature = sign(newest, objectId, expires);
      const query = `expires=${expires}&signature=${signature}`;
      return `${options.publicUrl()}/media/${objectId}.mp4?${query}`;
    },
    expiryOf(objectId, { expires = '', signature = '' }) {
      const genuine = secrets.some((secret) => equal(signature, sign(secret, objectId, expires)));
      if (!genuine) throw new ApiError('link_invalid', 'This link is not valid.');
      return Number(expires);
    },
  };
}

function sign(secret: Buffer, objectId: string, expires: number | string): string {
  return createHmac('sha256', secret).update(`${objectId} ${expires}`).digest('base64url');
}

/** Compared as text: many texts decode to the same bytes, and only one of them is the signature. */
function equal(given: string, genuine: string): boolean {
  const [a, b] = [Buffer.from(String(given)), Buffer.from(genuine)];
  return a.length === b.length && timingSafeEqual(a, b);
}
