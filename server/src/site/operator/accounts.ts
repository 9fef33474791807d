import { Type } from 'typebox';
import { listAccounts } from '../../accounts/account-listing.ts';
import { findAccount } from '../../accounts/accounts.ts';
import { listKeys } from '../../accounts/api-keys.ts';
import { describeMovement, offersOf, orderIdOf } from '../../billing/movement-words.ts';
import { UsageError } from '../../kernel/errors.ts';
import { readIsoTime } from '../../kernel/iso-time.ts';
import { adjust, type Grant, grant } from '../../ledger/ledger.ts';
import { readOverview, withAvailable } from '../../ledger/overview.ts';
import { movementPage } from '../../ledger/statements/movement-page.ts';
import { showAccount } from '../../operator/account-listing.ts';
import { disableByOperator, enableByOperator } from '../../operator/accounts/disabling.ts';
import {
  removePasskeyByOperator,
  signOutByOperator,
  waysIn,
} from '../../operator/accounts/signing-out.ts';
import { type Action, listActions, recordAction } from '../../operator/actions.ts';
import { eraseAccount } from '../../operator/erasure/erase.ts';
import { operatorAction, operatorRead, PAGE, PAGE_ROWS, pageOf } from './operator-route.ts';

/** Actions that are shown with an account. */
const ACTIONS = 20;

const Kind = Type.Union([Type.Literal('paid'), Type.Literal('promotional')]);
const Movement = {
  kind: Kind,
  credits: Type.Integer({ minimum: -1_000_000_000, maximum: 1_000_000_000 }),
  /** The same reference is never booked twice, so a repeated click does nothing. */
  reference: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\p{Cc}]+$' }),
};

const ALL_MOVEMENTS = {
  kinds: ['paid', 'promotional'] as const,
  reasons: null,
  from: null,
  until: null,
};

function movementOf(
  accountId: string,
  { kind, credits, reference }: Pick<Grant, 'kind' | 'credits' | 'reference'>,
): Grant {
  return { accountId, kind, credits, reference };
}

/** Records a movement as the command does. */
function recordOf(action: Action, { accountId: target, ...details }: Grant) {
  return (tx: Parameters<typeof recordAction>[0]) => recordAction(tx, action, { target, details });
}

export const OPERATOR_ACCOUNTS = [
  operatorRead(
    '/accounts',
    { ...PAGE, find: Type.Optional(Type.String({ maxLength: 254 })) },
    async ({ db }, { query: { cursor, find } }) => {
      const filter = { after: cursor, find: find || undefined, limit: PAGE_ROWS };
      const rows = await withAvailable(db, await listAccounts(db, filter));
      return pageOf(rows, (row) => row.account_id);
    },
  ),
  operatorRead('/accounts/:id', {}, async ({ db }, { id }) => {
    const accountId = await findAccount(db, id);
    return {
      ...(await showAccount(db, accountId)),
      lots: (await readOverview(db, accountId)).lots,
      keys: await listKeys(db, accountId),
      ...(await waysIn(db, accountId)),
      actions: await listActions(db, { target: accountId, limit: ACTIONS }),
    };
  }),
  operatorRead(
    '/accounts/:id/statement',
    { cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })) },
    async ({ db }, { id, query: { cursor } }) => {
      const before = cursor === undefined ? null : Number(cursor);
      const page = { ...ALL_MOVEMENTS, before, limit: PAGE_ROWS };
      const rows = await movementPage(db, await findAccount(db, id), page);
      const offers = await offersOf(db, rows);
      const lines = rows.map((row) => ({
        ...row,
        what: describeMovement(row, offers),
        order_id: orderIdOf(row),
      }));
      return pageOf(lines, (line) => String(line.id));
    },
  ),
  operatorAction('accounts disable', '/accounts/:id/disable', {}, ({ db }, { id, action }) =>
    disableByOperator(db, action, id),
  ),
  operatorAction('accounts enable', '/accounts/:id/enable', {}, ({ db }, { id, action }) =>
    enableByOperator(db, action, id),
  ),
  operatorAction(
    'accounts sign-out',
    '/accounts/:id/sign-out',
    { only_sessions: Type.Optional(Type.Boolean()) },
    ({ db }, { id, body, action }) =>
      signOutByOperator(db, action, { account: id, onlySessions: body.only_sessions ?? false }),
  ),
  operatorAction(
    'accounts remove-passkey',
    '/accounts/:id/remove-passkey',
    { passkey: Type.String({ minLength: 1, maxLength: 1400 }) },
    ({ db }, { id, body, action }) =>
      removePasskeyByOperator(db, action, { account: id, passkey: body.passkey }),
  ),
  operatorAction('accounts erase', '/accounts/:id/erase', {}, async ({ db }, { id, action }) =>
    eraseAccount(db, action, await findAccount(db, id)),
  ),
  operatorAction(
    'credits grant',
    '/accounts/:id/grant',
    { ...Movement, expires_at: Type.Optional(Type.String({ maxLength: 40 })) },
    async ({ db }, { id, body, action }) => {
      const accountId = await findAccount(db, id);
      const expiresAt = readExpiry(body.expires_at);
      const movement = { ...movementOf(accountId, body), expiresAt };
      return { changed: await grant(db, movement, recordOf(action, movement)) };
    },
  ),
  operatorAction(
    'credits adjust',
    '/accounts/:id/adjust',
    Movement,
    async ({ db }, { id, body, action }) => {
      const movement = movementOf(await findAccount(db, id), body);
      const change = { ...movement, note: action.reason };
      return { changed: await adjust(db, change, recordOf(action, movement)) };
    },
  ),
];

function readExpiry(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = readIsoTime(text);
  if (time) return time;
  throw new UsageError('the expiry must be an ISO 8601 time');
}
