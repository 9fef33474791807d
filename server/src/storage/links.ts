import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, statement } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { fileEnding } from '../kernel/file-endings.ts';

/** Makes and checks signed URLs. Links under `/media/` expire, callback URLs do not. */
export interface Links {
  /**
   * A link to an output. It expires after the delivery time, counted from the database's current
   * time.
   */
  linkTo(objectId: string, nowSeconds: number): string;
  /**
   * A link to an input, for the provider. It is valid for two days or more, because a provider may
   * fetch the input hours after the submit.
   * @param mediaType decides the file name extension, which some providers check
   */
  inputLinkTo(objectId: string, nowSeconds: number, mediaType: string): string;
  /**
   * @returns when the link expires, in seconds since 1970. The caller compares it with the
   * database's clock.
   * @throws ApiError `link_invalid` when the signature is not right
   */
  expiryOf(objectId: string, query: { expires?: string; signature?: string }): number;
  /** The URL for a provider's callbacks about an attempt. It can't be guessed. */
  callbackTo(provider: string, attemptId: string): string;
  /** The attempt that a callback's path names; undefined when its signature is not right. */
  attemptOf(provider: string, segment: string): string | undefined;
}

const CREATE = statement(
  'delivery_secret_create',
  'insert into delivery_secrets (id, secret) values (1, $1) on conflict do nothing',
);
const READ = statement(
  'delivery_secret_read',
  'select secret from delivery_secrets order by id desc',
);

/**
 * Reads the signing secrets that all processes share. The first process creates one.
 * @param options.publicUrl where clients reach the service, without a slash at its end
 */
export async function openLinks(options: {
  db: Database;
  publicUrl(): string;
  deliverySeconds: number;
}): Promise<Links> {
  await options.db.query(CREATE, [randomBytes(32)]);
  const secrets = (await options.db.query<{ secret: Buffer }>(READ)).map((row) => row.secret);
  const [newest] = secrets;
  if (!newest) throw new Error('there is no delivery secret in the database');
  const link = (objectId: string, file: { mediaType: string; expires: number }) => {
    const expires = Math.floor(file.expires);
    const query = `expires=${expires}&signature=${sign(newest, objectId, expires)}`;
    return `${options.publicUrl()}/media/${objectId}.${fileEnding(file.mediaType)}?${query}`;
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
      const [attemptId = '', token = '', ...more] = segment.split('.');
      if (more.length > 0) return undefined;
      const genuine = secrets.some((secret) =>
        equal(token, sign(secret, `callback ${attemptId}`, provider)),
      );
      return genuine ? attemptId : undefined;
    },
  };
}

/**
 * The longest time that a provider may let a job wait before it fetches the inputs: two days, at
 * Ark.
 */
const INPUT_SECONDS = 172_800;

/**
 * Signs two values: an object's id and its link's expiry, or an attempt's id and its provider. The
 * prefix `callback ` keeps a link's signature from being valid for a callback URL.
 */
function sign(secret: Buffer, subject: string, scope: number | string): string {
  return createHmac('sha256', secret).update(`${subject} ${scope}`).digest('base64url');
}

/**
 * Compares the base64url texts, not the decoded bytes: several texts decode to the same bytes, but
 * only one text was issued.
 */
function equal(given: string, genuine: string): boolean {
  const [a, b] = [Buffer.from(String(given)), Buffer.from(genuine)];
  return a.length === b.length && timingSafeEqual(a, b);
}
