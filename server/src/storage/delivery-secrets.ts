import { randomBytes } from 'node:crypto';
import { type Queryable, query, statement, type Transaction } from '../database/database.ts';

/** A secret that signs links and callback URLs. Times are milliseconds since 1970. */
export interface DeliverySecret {
  secret: Buffer;
  signs_from_ms: number | null;
  valid_until_ms: number | null;
  /** The database's clock at the read. */
  now_ms: number;
}

const CREATE = statement(
  'delivery_secret_create',
  'insert into delivery_secrets (id, secret) values (1, $1) on conflict do nothing',
);
/** All secrets, the newest first. */
export const readSecrets = query<[], DeliverySecret>(
  'delivery_secret_read',
  `select secret, extract(epoch from signs_from)::float8 * 1000 as signs_from_ms,
     extract(epoch from valid_until)::float8 * 1000 as valid_until_ms,
     extract(epoch from clock_now())::float8 * 1000 as now_ms
   from delivery_secrets order by id desc`,
);

/** Creates the first secret if there is none. */
export async function createFirstSecret(db: Queryable): Promise<void> {
  await db.query(CREATE, [randomBytes(32)]);
}

/** How often each process reads the secrets. */
export const SECRETS_SECONDS = 5;

/**
 * A new secret signs this long after its rotation: by then every process has read it, so none
 * refuses the links of another.
 */
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
 * Makes a new secret, unless the newest one is less than ten minutes old, and ends the older ones
 * after `keepSeconds`. It never makes an old secret valid for longer than an earlier rotation said.
 * @returns when the new secret signs, and until when links of older ones are accepted
 */
export async function rotateSecrets(tx: Transaction, keepSeconds: number) {
  await createFirstSecret(tx);
  await tx.query(LOCK); // rotations run one after the other
  const isRecent = (await newest(tx)).is_recent;
  if (!isRecent) await tx.query(ROTATE, [(await newest(tx)).id + 1, randomBytes(32)]);
  const { id, signs_from: signsFrom } = await newest(tx);
  const ended = await tx.query(END, [id, keepSeconds]);
  const [old] = await tx.query<{ until: Date | null }>(OLD, [id]);
  return {
    secret_id: id,
    signs_from: signsFrom,
    old_links_valid_until: old?.until ?? null,
    changed: !isRecent || ended.length > 0,
  };
}

async function newest(tx: Transaction) {
  const [row] = await tx.query<{ id: number; signs_from: Date; is_recent: boolean }>(NEWEST);
  if (!row) throw new Error('there is no delivery secret in the database');
  return row;
}
