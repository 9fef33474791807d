import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import {
  listPasskeys,
  type PasskeyListing,
  removePasskey,
  renamePasskey,
} from '../../sign-in/passkeys/passkeys.ts';
import { NameSchema } from '../auth/passkey.ts';
import { type AsJson, siteRoute } from '../route.ts';

/** A passkey of the account. */
export type PasskeyItem = AsJson<PasskeyListing>;

const ParamsSchema = Type.Object({
  id: Type.String({ maxLength: 1400, pattern: '^[\\w-]+$' }),
});

export const getPasskeys = siteRoute('GET /console/api/passkeys', {
  handle: async ({ db }: { db: Database }, { session: { accountId } }) => ({
    items: await listPasskeys(db, accountId),
    next: null,
  }),
});

export const patchPasskey = siteRoute('PATCH /console/api/passkeys/:id', {
  params: ParamsSchema,
  body: Type.Object({ name: NameSchema }),
  handle: async ({ db }: { db: Database }, { params, body, session: { accountId } }) => {
    if (await renamePasskey(db, { ...params, ...body, accountId })) return {};
    throw noSuchPasskey();
  },
});

export const deletePasskey = siteRoute('DELETE /console/api/passkeys/:id', {
  params: ParamsSchema,
  handle: async ({ db }: { db: Database }, { params, session: { accountId } }) => {
    if (await removePasskey(db, { ...params, accountId })) return {};
    throw noSuchPasskey();
  },
});

function noSuchPasskey(): ApiError {
  return new ApiError('not_found', 'This account has no such passkey.');
}
