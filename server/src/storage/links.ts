import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type Database,
  type Queryable,
  query,
  statement,
  type Transaction,
} from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { fileEnding } from '../kernel/file-names.ts';
import type { Storage } from './storage.ts';

/** Makes and checks signed URLs. Links under `/media/` expire, callback URLs do not. */
export type Links = Omit<Awaited<ReturnType<typeof openLinks>>, 'refresh'>;

/**
 * Reads the signing secrets that all processes share. The first process creates one.
 * @param options.publicUrl where clients reach the service, without a slash at its end
 */
export async function openLinks(options: {
  db: Database;
  publicUrl(): string;
  deliverySeconds: number;
  /** Makes the links to inputs, if they lead to the storage itself (INPUT_LINKS). */
  presign?: Storage['presign'] | undefined;
}) {
  await createFirstSecret(options.db);
  const secrets = await followSecrets(options.db);
  const link = (objectId: string, file: { mediaType: string; expires: number }) => {
    const expires = Math.floor(file.expires);
    const query = `expires=${expires}&signature=${sign(secrets.signing(), objectId, expires)}`;
    return `${options.publicUrl()}/media/${objectId}.${fileEnding(file.mediaType)}?${query}`;
  };
  const isGenuine = (signature: string, subject: string, scope: string) =>
    secrets.valid().some((secret) => equal(signature, sign(secret, subject, scope)));
  return {
    /** Reads the secrets; call it every SECRETS_SECONDS. */
    refresh: secrets.refresh,
    /** A link to an output. Its delivery time begins at `nowSeconds`, by the database's clock. */
    linkTo: (objectId: string, nowSeconds: number): string =>
      link(objectId, { mediaType: 'video/mp4', expires: nowSeconds + options.deliverySeconds }),
    /**
     * A link to an input. It works for at least two days: the provider may fetch it hours after the
     * submit. Some providers check the file name extension, which follows from the media type.
     */
    async inputLinkTo(objectId: string, nowSeconds: number, mediaType: string): Promise<string> {
      const seconds = Math.max(options.deliverySeconds, INPUT_SECONDS);
      const fileName = `${objectId}.${fileEnding(mediaType)}`;
      // If this fails, the service's own link does: a submit must not need a bucket's credentials.
      const presigned = await options
        .presign?.(objectId, { seconds, mediaType, fileName })
        .catch(() => undefined);
      if (presigned?.worksUntilExpiry) return presigned.url;
      return link(objectId, { mediaType, expires: nowSeconds + seconds });
    },
    /** A link to an input that works for ten minutes, for moderation. */
    briefLinkTo: (objectId: string, nowSeconds: number, mediaType: string): string =>
      link(objectId, { mediaType, expires: nowSeconds + BRIEF_SECONDS }),
    /**
     * When the link expires, in seconds since 1970, by the database's clock.
     * @throws ApiError `link_invalid` when the signature is not right
     */
    expiryOf(
      objectId: string,
      { expires = '', signature = '' }: { expires?: string; signature?: string },
    ): number {
      if (isGenuine(signature, objectId, expires)) return Number(expires);
      const message = 'This link is not valid. Read the task again for a new one.';
      throw new ApiError('link_invalid', message);
    },
    /**
     * A link to the service itself, for an hour. The doctor's own request shows who responds at the
     * public URL, a visitor's that the service can be reached there.
     */
    linkToSetUp(by: 'doctor' | 'visitor', nowSeconds: number) {
      const expires = Math.floor(nowSeconds) + SET_UP_SECONDS;
      const signature = sign(secrets.signing(), `set-up ${by}`, expires);
      const query = `by=${by}&expires=${expires}&signature=${signature}`;
      return { url: `${options.publicUrl()}/console/api/set-up?${query}`, signature };
    },
    /** The response to a set-up link: only a service with this database's secret can give it. */
    proofOf: (signature: string): string => sign(secrets.signing(), 'set-up proof', signature),
    isProof: (proof: string, signature: string): boolean =>
      isGenuine(proof, 'set-up proof', signature),
    /** The URL for a provider's callbacks about an attempt. It can't be guessed. */
    callbackTo(provider: string, attemptId: string): string {
      const token = sign(secrets.signing(), `callback ${attemptId}`, provider);
      return `${options.publicUrl()}/callbacks/${provider}/${attemptId}.${token}`;
    },
    /** The token that opens a share. Lists and reports have its id only, which opens nothing. */
    shareToken: (shareId: string): string =>
      shareId.replace(SHARE, '') + signShare(secrets.signing(), shareId),
    /** The share that a token opens; undefined when its signature is not right. */
    shareOf(token: string): string | undefined {
      const shareId = `${SHARE}${token.slice(0, ID_CHARACTERS)}`;
      const signature = token.slice(ID_CHARACTERS);
      const isRight = (secret: Buffer) => equal(signature, signShare(secret, shareId));
      return secrets.valid().some(isRight) ? shareId : undefined;
    },
    /** The attempt that a callback's path names; undefined when its signature is not right. */
    attemptOf(provider: string, segment: string): string | undefined {
      const [attemptId = '', token = '', ...more] = segment.split('.');
      if (more.length > 0) return undefined;
      return isGenuine(token, `callback ${attemptId}`, provider) ? attemptId : undefined;
    },
  };
}

/** The secrets, by the database's clock: all processes switch at the same moment. */
async function followSecrets(db: Database) {
  let secrets: DeliverySecret[] = [];
  let aheadMs = 0;
  const refresh = async () => {
    secrets = await readSecrets(db);
    aheadMs = (secrets[0]?.now_ms ?? Date.now()) - Date.now();
  };
  await refresh();
  const isPast = (ms: number | null) => ms !== null && ms <= Date.now() + aheadMs;
  const valid = () => secrets.filter(({ valid_until_ms: until }) => !isPast(until));
  return {
    refresh,
    valid: () => valid().map(({ secret }) => secret),
    signing() {
      const signing = valid().find(({ signs_from_ms: from }) => from === null || isPast(from));
      if (!signing) throw new Error('there is no delivery secret in the database');
      return signing.secret;
    },
  };
}

const BRIEF_SECONDS = 600;
const SET_UP_SECONDS = 3600;

/** The longest that a job may wait before the provider fetches its inputs (Ark). */
const INPUT_SECONDS = 172_800;

/**
 * Signs two values: an object's id and its link's expiry, or an attempt's id and its provider. The
 * prefix `callback ` keeps a link's signature from being valid for a callback URL.
 */
function sign(secret: Buffer, subject: string, scope: number | string): string {
  return createHmac('sha256', secret).update(`${subject} ${scope}`).digest('base64url');
}

const SHARE = 'share_';
/** The length of an id without its prefix. */
const ID_CHARACTERS = 24;

/** Short (132 bits), because people send it to each other. */
function signShare(secret: Buffer, shareId: string): string {
  return sign(secret, 'share', shareId).slice(0, 22);
}

/** Compares the texts, not the decoded bytes: several base64url texts decode to the same bytes. */
function equal(given: string, genuine: string): boolean {
  const [a, b] = [Buffer.from(String(given)), Buffer.from(genuine)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A secret that signs links and callback URLs. Times are milliseconds since 1970. */
interface DeliverySecret {
  secret: Buffer;
  signs_from_ms: number | null;
  valid_until_ms: number | null;
  now_ms: number;
}

const CREATE = statement(
  'delivery_secret_create',
  'insert into delivery_secrets (id, secret) values (1, $1) on conflict do nothing',
);
const readSecrets = query<[], DeliverySecret>(
  'delivery_secret_read',
  `select secret, extract(epoch from signs_from)::float8 * 1000 as signs_from_ms,
     extract(epoch from valid_until)::float8 * 1000 as valid_until_ms,
     extract(epoch from clock_now())::float8 * 1000 as now_ms
   from delivery_secrets order by id desc`,
);

async function createFirstSecret(db: Queryable): Promise<void> {
  await db.query(CREATE, [randomBytes(32)]);
}

export const SECRETS_SECONDS = 5;

/** When a new secret starts signing: by then every process has read it. */
const SWITCH_SECONDS = 3 * SECRETS_SECONDS;

const LOCK = statement('delivery_secret_lock', 'select id from delivery_secrets for update');

const NEWEST = statement(
  'delivery_secret_newest',
  `select id, coalesce(signs_from, created_at) as signs_from,
     created_at > clock_now() - interval '10 minutes' and id > 1 as is_recent
   from delivery_secrets order by id desc limit 1`,
);

const ROTATE = statement(
  'delivery_secret_rotate',
  `insert into delivery_secrets (id, secret, signs_from)
   values ($1, $2, clock_now() + ${SWITCH_SECONDS} * interval '1 second')`,
);

const END = statement(
  'delivery_secret_end',
  `with moment as materialized (
     select clock_now() + ($2 + ${SWITCH_SECONDS}) * interval '1 second' as at)
   update delivery_secrets set valid_until = moment.at from moment
   where id < $1 and (valid_until is null or valid_until > moment.at)
   returning valid_until`,
);

const OLD = statement(
  'delivery_secret_old',
  'select max(valid_until) as until from delivery_secrets where id < $1',
);

/**
 * Makes a new secret, unless the newest is less than ten minutes old, and ends older ones after
 * `keepSeconds`, but not later than an earlier rotation said.
 * @returns when the new secret starts signing, and until when older links are accepted
 */
export async function rotateSecrets(tx: Transaction, keepSeconds: number) {
  await createFirstSecret(tx);
  await tx.query(LOCK); // rotations run one after the other
  const before = await readNewest(tx);
  if (!before.is_recent) await tx.query(ROTATE, [before.id + 1, randomBytes(32)]);
  const { id, signs_from: signsFrom } = await readNewest(tx);
  const ended = await tx.query(END, [id, keepSeconds]);
  const [old] = await tx.query<{ until: Date | null }>(OLD, [id]);
  return {
    secret_id: id,
    signs_from: signsFrom,
    old_links_valid_until: old?.until ?? null,
    changed: !before.is_recent || ended.length > 0,
  };
}

async function readNewest(tx: Transaction) {
  const [row] = await tx.query<{ id: number; signs_from: Date; is_recent: boolean }>(NEWEST);
  if (!row) throw new Error('there is no delivery secret in the database');
  return row;
}
