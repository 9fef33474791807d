import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, statement } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { fileEnding } from '../kernel/file-endings.ts';

/** Makes and checks the signed addresses: those under `/media/` expire, callbacks do not. */
export interface Links {
  /** A link to an output that works for the delivery time, counted from the database's now. */
  linkTo(objectId: string, nowSeconds: number): string;
  /**
   * A link to an input, for the provider: it may wait for hours before it fetches what it was sent.
   * @param mediaType decides the ending, which some who fetch it look at
   */
  inputLinkTo(objectId: string, nowSeconds: number, mediaType: string): string;
  /**
   * @returns when the link expires, in seconds since 1970: the caller compares with the database
   * @throws ApiError `link_invalid` (forged or cut)
   */
  expiryOf(objectId: string, query: { expires?: string; signature?: string }): number;
  /** Where a provider calls back about an attempt: nobody else can guess it. */
  callbackTo(provider: string, attemptId: string): string;
  /** The attempt that a callback's path is about; undefined when the path is not one of ours. */
  attemptOf(provider: string, segment: string): string | undefined;
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
  const link = (objectId: string, of: { mediaType: string; expires: number }) => {
    const expires = Math.floor(of.expires);
    const query = `expires=${expires}&signature=${sign(newest, objectId, expires)}`;
    return `${options.publicUrl()}/media/${objectId}.${fileEnding(of.mediaType)}?${query}`;
  };
  return {
    linkTo: (objectId, nowSeconds) =>
      link(objectId, { mediaType: 'video/mp4', expires: nowSeconds + options.deliverySeconds }),
    inputLinkTo(objectId, nowSeconds, mediaType) {
      const seconds = Math.max(options.deliverySeconds, INPUT_SECONDS);
      return link(objectId, { mediaType, expires: nowSeconds + seconds });
    },
    expiryOf(objectId, { expires = '', signature = '' }) {
      const genuine = secrets.some((secret) => equal(signature, sign(secret, objectId, expires)));
      if (!genuine)
        throw new ApiError(
          'link_invalid',
          'This link is not valid. Read the task again for a new one.',
        );
      return Number(expires);
    },
    callbackTo(provider, attemptId) {
      const token = sign(newest, `callback ${attemptId}`, provider);
      return `${options.publicUrl()}/callbacks/${provider}/${attemptId}.${token}`;
    },
    attemptOf(provider, segment) {
      const [attemptId = '', token = ''] = segment.split('.');
      const genuine = secrets.some((secret) =>
        equal(token, sign(secret, `callback ${attemptId}`, provider)),
      );
      return genuine ? attemptId : undefined;
    },
  };
}

/** The longest that a provider keeps a job waiting: two days at Ark. */
const INPUT_SECONDS = 172_800;

function sign(secret: Buffer, objectId: string, expires: number | string): string {
  return createHmac('sha256', secret).update(`${objectId} ${expires}`).digest('base64url');
}

/** Compared as text: many texts decode to the same bytes, and only one of them is the signature. */
function equal(given: string, genuine: string): boolean {
  const [a, b] = [Buffer.from(String(given)), Buffer.from(genuine)];
  return a.length === b.length && timingSafeEqual(a, b);
}
