import { findAccount, lockAccount } from '../../accounts/accounts.ts';
import type { Database } from '../../database/database.ts';
import { storable } from '../../database/json-text.ts';
import { listIdentities, removeIdentities } from '../../sign-in/issuers/identities.ts';
import { listPasskeys, removePasskey, removePasskeys } from '../../sign-in/passkeys/passkeys.ts';
import { endSessions, listSessions } from '../../sign-in/sessions.ts';
import { type Action, performAction } from '../actions.ts';

/** Where an account is signed in, and what signs in to it beside a mailed code. */
export async function waysIn(db: Database, accountId: string) {
  return {
    sessions: await listSessions(db, accountId),
    passkeys: await listPasskeys(db, accountId),
    identities: await listIdentities(db, accountId),
  };
}

/**
 * Ends all sessions of an account, and removes its passkeys and outside identities: any of them may
 * be a thief's. Its person signs in again by a mailed code. The account is locked first, so that
 * nothing that a session is adding meanwhile is left.
 * @param account an id or an e-mail address
 * @throws UsageError if there is no such account
 */
export async function signOutByOperator(
  db: Database,
  action: Action,
  { account, only_sessions: keepsOthers }: { account: string; only_sessions: boolean },
) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, async (tx) => {
    await lockAccount(tx, target);
    const ended_sessions = await endSessions(tx, target);
    const removed_passkeys = keepsOthers ? 0 : await removePasskeys(tx, target);
    const removed_identities = keepsOthers ? 0 : await removeIdentities(tx, target);
    const changed = ended_sessions + removed_passkeys + removed_identities > 0;
    return { account_id: target, ended_sessions, removed_passkeys, removed_identities, changed };
  });
}

/**
 * Removes one passkey of an account.
 * @param named.account an id or an e-mail address
 * @throws UsageError if there is no such account
 */
export async function removePasskeyByOperator(
  db: Database,
  action: Action,
  { account, passkey }: { account: string; passkey: string },
) {
  const target = await findAccount(db, account);
  return performAction(
    db,
    action,
    { target, details: { passkey: storable(passkey) } },
    async (tx) => {
      await lockAccount(tx, target);
      const changed = await removePasskey(tx, { accountId: target, id: storable(passkey) });
      return { account_id: target, passkey, changed };
    },
  );
}
