import { Type } from 'typebox';
import type { Database, Transaction } from '../../database/database.ts';
import { addPasskey, passkeyOptions } from '../../sign-in/passkeys/add-passkey.ts';
import { challengeOptions, enterByPasskey } from '../../sign-in/passkeys/enter-by-passkey.ts';
import { nameSchema } from '../name-schema.ts';
import { siteRoute } from '../route.ts';
import { tellOwner } from '../tell-owner.ts';
import { giveSession, signedInFrom } from './browser.ts';
import { onReopened } from './reopened.ts';

export interface PasskeyDeps {
  db: Database;
  publicUrl(): string;
}

/** A response of a browser's authenticator. Its members are checked with its signature. */
export const ResponseSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1400}$' }),
    rawId: Type.String(),
    type: Type.String(),
    response: Type.Object({}, { additionalProperties: true }),
  },
  { additionalProperties: true },
);

/** A name that a person gives to something of theirs. */
export const NameSchema = nameSchema(60);

export const postSignInOptions = siteRoute('POST /auth/passkey/options', {
  access: 'public',
  handle: ({ db, publicUrl }: PasskeyDeps) => challengeOptions({ db, publicUrl: publicUrl() }),
});

/** Signs in by a passkey. */
export const postPasskey = siteRoute('POST /auth/passkey', {
  access: 'public',
  body: ResponseSchema,
  handle: async (deps: PasskeyDeps, { body, request, reply }) => {
    const { db } = deps;
    const publicUrl = deps.publicUrl();
    const from = signedInFrom(request, publicUrl);
    const reopening = onReopened({ ...deps, request });
    const entered = await enterByPasskey({ db, publicUrl, onReopened: reopening }, body, from);
    giveSession(reply, publicUrl, entered.token);
    return { reopened: entered.reopened };
  },
});

export const postPasskeyOptions = siteRoute('POST /auth/passkeys/options', {
  proof: 'passkey',
  handle: ({ db, publicUrl }: PasskeyDeps, { session }) =>
    passkeyOptions({ db, publicUrl: publicUrl() }, session),
});

/** Adds a passkey to the account that is signed in. */
export const postPasskeys = siteRoute('POST /auth/passkeys', {
  proof: 'passkey',
  body: Type.Object({ name: NameSchema, response: ResponseSchema }),
  handle: ({ db, publicUrl }: PasskeyDeps, { body, request, session }) => {
    const { accountId } = session;
    const done = { accountId, what: 'A passkey was added to your account' };
    const onAdded = (tx: Transaction) => tellOwner(tx, { request, publicUrl }, done);
    return addPasskey({ db, publicUrl: publicUrl(), onAdded }, session, body);
  },
});
