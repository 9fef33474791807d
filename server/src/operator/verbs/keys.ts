import { findAccount, requireNotErased } from '../../accounts/accounts.ts';
import {
  createKey,
  keyTerms,
  listKeys,
  revokeAllKeys,
  revokeKey,
  updateKey,
} from '../../accounts/api-keys.ts';
import type { Transaction } from '../../database/database.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import { performAction, recordAction } from '../actions.ts';
import {
  ACCOUNT,
  type Field,
  flag,
  OF_ACCOUNT,
  optional,
  orNone,
  text,
  time,
  whole,
} from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const KEY = text('The id of the key; it is not secret.', { word: 'KEY_ID' });
const NAME = text('A name, so that people can tell keys apart.', { word: 'N' });
/** In the future, since a past time would hide when the key really stopped working. */
const EXPIRY: Field<Date> = {
  ...time('When it stops working, in the future.'),
  read(given, refuse) {
    const at = time('').read(given, refuse);
    return at.getTime() > Date.now() ? at : refuse('must be in the future');
  },
};
const CAP = whole('Credits that its creates may spend in a calendar month (UTC).', {
  word: 'CREDITS',
  max: 999_999_999_999,
});

export const KEYS = {
  'keys create': verb({
    summary:
      'Create an API key; its secret is shown only now. ISO: a time; without a zone it is UTC',
    fields: {
      account: ACCOUNT,
      name: optional(NAME),
      expires_at: optional(EXPIRY),
      monthly_cap: optional(CAP),
      test: flag('Makes a test key: it spends test credits, and no real provider is called.'),
    },
    positional: ['account'],
    reason: 'optional',
    notOnConsole: 'a stolen session of an operator must not get the secret of a key',
    run: async ({ db }, { account, name, test, ...given }, action) => {
      const { expires_at: expiresAt, monthly_cap: cap } = given;
      const mode = test ? 'test' : 'live';
      const accountId = await findAccount(db, account);
      const { keyId, secret } = await db.transaction(async (tx) => {
        await requireNotErased(tx, accountId);
        const created = await createKey(tx, { accountId, mode, name, expiresAt, monthlyCap: cap });
        await recordAction(tx, action, { target: created.keyId, details: { account: accountId } });
        return created;
      });
      const shown = { key_id: keyId, mode, secret, expires_at: expiresAt ?? null };
      return { ...shown, monthly_cap: cap ?? null };
    },
  }),
  'keys update': verb({
    summary: 'Rename a key, or set when it ends or what it may spend in a calendar month (UTC)',
    fields: {
      key: KEY,
      name: optional(NAME),
      expires_at: optional(orNone(EXPIRY)),
      monthly_cap: optional(orNone(CAP)),
    },
    positional: ['key'],
    reason: 'optional',
    dialog: { title: 'Change the key', effect: 'Enter none to remove its cap or its end.' },
    run: ({ db }, { key, name, expires_at: expiresAt, monthly_cap: monthlyCap }, action) => {
      const changes = { name, expiresAt, monthlyCap };
      const before = (tx: Transaction) => keyTerms(tx, key);
      return performAction(db, action, { target: key, details: changes, before }, async (tx) => {
        const changed = await updateKey(tx, key, changes);
        return { key_id: key, changed };
      });
    },
  }),
  'keys revoke': verb({
    summary: 'Respond 401 to this key from the next request on',
    fields: { key: KEY },
    positional: ['key'],
    reason: 'optional',
    dialog: { title: 'Revoke the key', isDangerous: true },
    run: ({ db }, { key }, action) =>
      performAction(db, action, { target: key }, async (tx) => {
        const changed = await revokeKey(tx, key);
        return { key_id: key, revoked: true, changed };
      }),
  }),
  'keys revoke-all': verb({
    summary: 'Respond 401 to all existing keys of an account from the next request on',
    ...OF_ACCOUNT,
    reason: 'required',
    dialog: { title: 'Revoke all keys', isDangerous: true },
    run: async ({ db }, { account }, action) => {
      const target = await findAccount(db, account);
      return performAction(db, action, { target }, async (tx) => {
        const revoked = await revokeAllKeys(tx, target);
        return { account_id: target, revoked, changed: revoked.length > 0 };
      });
    },
  }),
  'keys list': verb({
    summary: 'List the keys of an account with their caps and uses, without their secrets',
    ...OF_ACCOUNT,
    run: async ({ db }, { account }) => {
      const keys = await listKeys(db, await findAccount(db, account));
      const spent = await spentThisMonth(
        db,
        keys.map((key) => key.key_id),
      );
      return keys.map((key) => ({ ...key, spent_this_month: spent.get(key.key_id) ?? 0 }));
    },
  }),
};
