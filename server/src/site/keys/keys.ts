import { Type } from 'typebox';
import { lockAccount } from '../../accounts/accounts.ts';
import { createKey, revokeKey, updateKey, validKeys } from '../../accounts/api-keys.ts';
import { recentRequests } from '../../accounts/key-usage.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { readIsoTime } from '../../kernel/iso-time.ts';
import { refillTestCredits, testCredits } from '../../ledger/kinds/test-credits.ts';
import { sessionLives } from '../../sign-in/sessions.ts';
import { nameSchema } from '../name-schema.ts';
import { sessionOf, siteRoute } from '../route.ts';
import { type TellOwnerDeps, tellOwner } from '../tell-owner.ts';
import type { ApiKey, ApiKeyList, KeyRequests, NewApiKey } from './key-shapes.ts';
import { readKey, readKeys } from './read-keys.ts';

interface KeyDeps extends TellOwnerDeps {
  db: Database;
}

/** How many valid keys an account may have at a time. */
const MAX_KEYS = 50;
/** A revoked key stays listed, and a new one has a rate window of its own. */
const CREATES = { max: 100, seconds: 86_400 };
const MAX_CAP = 1_000_000_000;
/** How many days of requests a page shows of one key. */
const DAYS = 90;

const NameSchema = nameSchema(100);
const CapSchema = Type.Integer({ minimum: 0, maximum: MAX_CAP });
const IdSchema = Type.Object({ id: Type.String({ maxLength: 100 }) });

/** GET: the keys of the account that is signed in. */
export const listOwnKeys = siteRoute({
  method: 'GET',
  url: '/console/api/keys',
  handle: async ({ db }: KeyDeps, { request }): Promise<ApiKeyList> => {
    const { accountId } = sessionOf(request);
    const items = await readKeys(db, accountId);
    const test_credits = await testCredits(db, accountId);
    return { items, next: null, max_keys: MAX_KEYS, test_credits };
  },
});

/** POST: a new key. The response has its secret, which is not stored. */
export const createOwnKey = siteRoute({
  method: 'POST',
  url: '/console/api/keys',
  rate: CREATES,
  proof: 'api_key',
  body: Type.Object({
    name: NameSchema,
    mode: Type.Optional(Type.Enum(['live', 'test'])),
    expires_at: Type.Optional(Type.String({ maxLength: 40 })),
    monthly_cap: Type.Optional(CapSchema),
  }),
  handle: async (deps: KeyDeps, { body, request, reply }): Promise<NewApiKey> => {
    const { db } = deps;
    const { accountId, sessionId, email } = sessionOf(request);
    const expiresAt = readExpiry(body.expires_at);
    const { keyId, secret } = await db.transaction(async (tx) => {
      await lockAccount(tx, accountId); // so that parallel creates don't exceed the limit
      if (!(await sessionLives(tx, sessionId)))
        throw new ApiError('unauthorized', 'Sign in again.');
      if ((await validKeys(tx, accountId)) >= MAX_KEYS) throw tooManyKeys();
      const { mode, name, monthly_cap: monthlyCap } = body;
      return createKey(tx, { accountId, mode, name: name.trim(), expiresAt, monthlyCap });
    });
    tellOwner(deps, request, { email, what: `An API key was created: ${keyId}` });
    reply.code(201);
    return { key: await readKey(db, accountId, keyId), secret };
  },
});

/** PATCH: another name, another cap (null removes it), or both. */
export const updateOwnKey = siteRoute({
  method: 'PATCH',
  url: '/console/api/keys/:id',
  params: IdSchema,
  proof: ({ monthly_cap: cap }) => (cap === undefined ? undefined : 'api_key_cap'),
  body: Type.Object({
    name: Type.Optional(NameSchema),
    monthly_cap: Type.Optional(Type.Union([CapSchema, Type.Null()])),
  }),
  handle: async (deps: KeyDeps, { body, params, request }): Promise<ApiKey> => {
    const { db } = deps;
    const { accountId, email } = sessionOf(request);
    const { id, monthly_cap: before } = await readKey(db, accountId, params.id);
    await updateKey(db, id, { name: body.name?.trim(), monthlyCap: body.monthly_cap });
    const after = await readKey(db, accountId, id);
    if (after.monthly_cap !== before) {
      tellOwner(deps, request, { email, what: `The monthly cap of an API key was changed: ${id}` });
    }
    return after;
  },
});

/** DELETE: from the next request on, the key gets 401. */
export const revokeOwnKey = siteRoute({
  method: 'DELETE',
  url: '/console/api/keys/:id',
  params: IdSchema,
  handle: async ({ db }: KeyDeps, { params, request }): Promise<ApiKey> => {
    const { accountId } = sessionOf(request);
    const { id } = await readKey(db, accountId, params.id);
    await revokeKey(db, id);
    return readKey(db, accountId, id);
  },
});

/** GET: how many requests of a key were admitted on each day. */
export const requestsOfOwnKey = siteRoute({
  method: 'GET',
  url: '/console/api/keys/:id/requests',
  params: IdSchema,
  handle: async ({ db }: KeyDeps, { params, request }): Promise<KeyRequests> => {
    const { id } = await readKey(db, sessionOf(request).accountId, params.id);
    return { days: (await recentRequests(db, [id], DAYS)).get(id) ?? [] };
  },
});

/** POST: sets the test credits of the account back to what they were at first. */
export const refillOwnTestCredits = siteRoute({
  method: 'POST',
  url: '/console/api/test-credits',
  handle: async ({ db }: KeyDeps, { request }): Promise<{ test_credits: number }> => {
    return { test_credits: await refillTestCredits(db, sessionOf(request).accountId) };
  },
});

/** @throws ApiError `invalid_request` unless it is a time in the future */
function readExpiry(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = readIsoTime(text);
  if (time && time.getTime() > Date.now()) return time;
  throw new ApiError('invalid_request', 'expires_at must be an ISO 8601 time in the future.', {
    details: { field: 'expires_at', reason: time ? 'too_small' : 'malformed' },
  });
}

function tooManyKeys(): ApiError {
  const message = `An account can have ${MAX_KEYS} valid API keys. Revoke one that is not used.`;
  return new ApiError('invalid_request', message, {
    details: { reason: 'too_many', limit: MAX_KEYS },
  });
}
