import { type Queryable, statement } from '../../database/database.ts';

const STORE = statement(
  'challenge_store',
  `insert into passkey_challenges (challenge, account_id, expires_at)
   values ($1, $2, clock_now() + interval '5 minutes')`,
);

/** @param accountId the account that adds a passkey; null for a sign-in */
export async function storeChallenge(
  db: Queryable,
  challenge: string,
  accountId: string | null,
): Promise<void> {
  await db.query(STORE, [challenge, accountId]);
}

const TAKE = statement(
  'challenge_take',
  `delete from passkey_challenges
   where challenge = $1 and account_id is not distinct from $2 and expires_at > clock_now()
   returning challenge`,
);

/**
 * Deletes a challenge. So a recorded response can't be sent again.
 * @returns whether there was one
 */
export async function takeChallenge(
  db: Queryable,
  challenge: string,
  accountId: string | null,
): Promise<boolean> {
  if (!/^[\w-]+$/.test(challenge)) return false;
  return (await db.query(TAKE, [challenge, accountId])).length > 0;
}
