import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { addPasskey, passkeyOptions } from '../../sign-in/passkeys/add-passkey.ts';
import { challengeOptions, enterByPasskey } from '../../sign-in/passkeys/enter-by-passkey.ts';
import { sessionOf, siteRoute } from '../route.ts';
import { giveSession, signedInFrom } from './browser.ts';

export interface PasskeyDeps {
  db: Database;
  publicUrl(): string;
}

/** A response of a browser's authenticator. Its members are checked with its signature. */
const ResponseSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1400}$' }),
    rawId: Type.String(),
    type: Type.String(),
    response: Type.Object({}, { additionalProperties: true }),
  },
  { additionalProperties: true },
);

/** A name that a person gives to something of theirs. */
export const NameSchema = Type.String({
  ...{ minLength: 1, maxLength: 60, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$' },
});

export const postSignInOptions = siteRoute({
  method: 'POST',
  url: '/auth/passkey/options',
  access: 'public',
  handle: ({ db, publicUrl }: PasskeyDeps) => challengeOptions({ db, publicUrl: publicUrl() }),
});

/** Signs in by a passkey. */
export const postPasskey = siteRoute({
  method: 'POST',
  url: '/auth/passkey',
  access: 'public',
  body: ResponseSchema,
  handle: async ({ db, publicUrl: urlOf }: PasskeyDeps, { body, request, reply }) => {
    const publicUrl = urlOf();
    const from = signedInFrom(request, publicUrl);
    giveSession(reply, publicUrl, await enterByPasskey({ db, publicUrl }, body, from));
    return {};
  },
});

export const postPasskeyOptions = siteRoute({
  method: 'POST',
  url: '/auth/passkeys/options',
  handle: ({ db, publicUrl }: PasskeyDeps, { request }) =>
    passkeyOptions({ db, publicUrl: publicUrl() }, sessionOf(request)),
});

/** Adds a passkey to the account that is signed in. */
export const postPasskeys = siteRoute({
  method: 'POST',
  url: '/auth/passkeys',
  body: Type.Object({ name: NameSchema, response: ResponseSchema }),
  handle: ({ db, publicUrl }: PasskeyDeps, { body, request }) => {
    const added = { ...body, accountId: sessionOf(request).accountId };
    return addPasskey({ db, publicUrl: publicUrl() }, added);
  },
});
