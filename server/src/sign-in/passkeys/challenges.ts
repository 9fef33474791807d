import { type Queryable, statement } from '../../database/database.ts';

/** Whose response to a challenge counts; it says what the challenge is for, too. */
export interface ChallengeOwner {
  /** null: a sign-in. */
  accountId: string | null;
  /** The session in which a person proves to be the same; null: a passkey is added. */
  sessionId: string | null;
}

/** Of a sign-in: nobody is known yet. */
export const NOBODY: ChallengeOwner = { accountId: null, sessionId: null };

const STORE = statement(
  'challenge_store',
  `insert into passkey_challenges (challenge, account_id, session_id, expires_at)
   values ($1, $2, $3, clock_now() + interval '5 minutes')`,
);

export async function storeChallenge(
  db: Queryable,
  challenge: string,
  { accountId, sessionId }: ChallengeOwner,
): Promise<void> {
  await db.query(STORE, [challenge, accountId, sessionId]);
}

const TAKE = statement(
  'challenge_take',
  `delete from passkey_challenges
   where challenge = $1 and account_id is not distinct from $2
     and session_id is not distinct from $3 and expires_at > clock_now()
   returning challenge`,
);

/**
 * Deletes a challenge. So a recorded response can't be sent again.
 * @returns whether there was one
 */
export async function takeChallenge(
  db: Queryable,
  challenge: string,
  { accountId, sessionId }: ChallengeOwner,
): Promise<boolean> {
  if (!/^[\w-]+$/.test(challenge)) return false;
  return (await db.query(TAKE, [challenge, accountId, sessionId])).length > 0;
}
