import { forgetIdleWindows } from '../accounts/rate-window.ts';
import { type Database, statement } from '../database/database.ts';

const TABLES = ['sessions', 'sign_in_codes', 'proof_codes', 'passkey_challenges', 'sign_in_starts'];

const EXPIRED = TABLES.map((table) =>
  statement(
    `expired_${table}`,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where expires_at < clock_now() limit 1000))
       and expires_at < clock_now()`,
  ),
);

const GRANTS = statement(
  'expired_signup_grants',
  `delete from signup_grants where granted_at < clock_now() - interval '1 year'`,
);

/**
 * Deletes what has expired: sessions, codes, challenges, starts, idle rate windows, and after a
 * year the notes of who was given promotional credits.
 */
export async function deleteExpired(db: Database): Promise<void> {
  for (const expired of EXPIRED) await db.query(expired);
  await db.query(GRANTS);
  await forgetIdleWindows(db);
}
