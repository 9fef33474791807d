import { Type } from 'typebox';
import type { BrandDeps } from '../../brand/brand.ts';
import type { Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { challengeOptions, enterByPasskey } from '../../sign-in/check-passkey.ts';
import {
  addPasskey,
  listPasskeys,
  type PasskeyListing,
  passkeyOptions,
  removePasskey,
  renamePasskey,
} from '../../sign-in/passkeys.ts';
import { type AsJson, nameSchema, type PageDeps, siteRoute } from '../route.ts';
import { onReopened, tellOwner } from '../tell-owner.ts';
import { setSessionCookie, signedInFrom } from './cookies.ts';

/** An authenticator's response. Its members are checked along with its signature. */
export const ResponseSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1400}$' }),
    rawId: Type.String(),
    type: Type.String(),
    response: Type.Object({}, { additionalProperties: true }),
  },
  { additionalProperties: true },
);

export type PasskeyItem = AsJson<PasskeyListing>;

const NameSchema = nameSchema(60);
const ParamsSchema = Type.Object({ id: Type.String({ maxLength: 1400, pattern: '^[\\w-]+$' }) });

function noSuchPasskey(): ApiError {
  return new ApiError('not_found', 'This account has no such passkey.');
}

export const PASSKEY_ROUTES = [
  siteRoute('POST /auth/passkey/options', {
    access: 'public',
    handle: ({ db, publicUrl }: PageDeps) => challengeOptions({ db, publicUrl: publicUrl() }),
  }),
  siteRoute('POST /auth/passkey', {
    access: 'public',
    body: ResponseSchema,
    handle: async (deps: PageDeps, { body, request, reply }) => {
      const { db } = deps;
      const publicUrl = deps.publicUrl();
      const from = signedInFrom(request, publicUrl);
      const reopening = onReopened({ ...deps, request });
      const entered = await enterByPasskey({ db, publicUrl, onReopened: reopening }, body, from);
      setSessionCookie(reply, publicUrl, entered.token);
      return { reopened: entered.reopened };
    },
  }),
  siteRoute('POST /auth/passkeys/options', {
    proof: 'passkey',
    handle: ({ db, publicUrl, brand }: PageDeps & BrandDeps, { session }) =>
      passkeyOptions({ db, publicUrl: publicUrl(), rpName: brand.current().name }, session),
  }),
  siteRoute('POST /auth/passkeys', {
    proof: 'passkey',
    body: Type.Object({ name: NameSchema, response: ResponseSchema }),
    handle: ({ db, publicUrl }: PageDeps, { body, request, session }) => {
      const { accountId } = session;
      const done = { accountId, what: 'A passkey was added to your account' };
      const onAdded = (tx: Transaction) => tellOwner(tx, { request, publicUrl }, done);
      return addPasskey({ db, publicUrl: publicUrl(), onAdded }, session, body);
    },
  }),
  siteRoute('GET /console/api/passkeys', {
    handle: async ({ db }: PageDeps, { session: { accountId } }) => {
      return { items: await listPasskeys(db, accountId), next: null };
    },
  }),
  siteRoute('PATCH /console/api/passkeys/:id', {
    params: ParamsSchema,
    body: Type.Object({ name: NameSchema }),
    handle: async ({ db }: PageDeps, { params, body, session: { accountId } }) => {
      if (await renamePasskey(db, params.id, accountId, body.name)) return {};
      throw noSuchPasskey();
    },
  }),
  siteRoute('DELETE /console/api/passkeys/:id', {
    params: ParamsSchema,
    handle: async ({ db }: PageDeps, { params, session: { accountId } }) => {
      if (await removePasskey(db, params.id, accountId)) return {};
      throw noSuchPasskey();
    },
  }),
];
