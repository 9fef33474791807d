import { Type } from 'typebox';
import { lockAccount } from '../../accounts/accounts.ts';
import {
  countValidKeys,
  createKey,
  listKeys,
  revokeKey,
  updateKey,
} from '../../accounts/api-keys.ts';
import { recentRequests } from '../../accounts/key-usage.ts';
import type { Queryable } from '../../database/database.ts';
import { ApiError, invalidRequest } from '../../kernel/errors.ts';
import { readIsoTime } from '../../kernel/text/iso-time.ts';
import { refillTestCredits } from '../../ledger/test-credits.ts';
import { isSessionLive } from '../../sign-in/sessions.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import {
  type AsJson,
  ModeSchema,
  nameSchema,
  type PageDeps,
  type ResultOf,
  siteRoute,
} from '../route.ts';
import { tellOwner } from '../tell-owner.ts';

/** Days of request counts in the list of keys, and on a key's own page. */
const DAYS = { list: 30, page: 90 };

/** An API key as shown to its owner, without its secret. */
export type ApiKey = AsJson<OwnKey>;
type OwnKey = Awaited<ReturnType<typeof readKeys>>[number];

async function readKeys(db: Queryable, accountId: string) {
  const keys = await listKeys(db, accountId);
  const ids = keys.map((key) => key.key_id);
  const [spent, requests] = await Promise.all([
    spentThisMonth(db, ids),
    recentRequests(db, ids, DAYS.list),
  ]);
  return keys
    .map(({ key_id: id, last_used_address: last_used_network, ...key }) => ({
      id,
      ...key,
      last_used_network, // the column is named after the address, but holds only its network
      // The cost of its tasks this month, minus refunds.
      spent_this_month: spent.get(id) ?? 0,
      // Requests per day, oldest first; the last one is today (UTC).
      requests: (requests.get(id) ?? []).map((day) => day.requests),
    }))
    .reverse();
}

/** @throws ApiError `not_found` unless the key belongs to the account */
async function readKey(db: Queryable, accountId: string, id: string): Promise<OwnKey> {
  const key = (await readKeys(db, accountId)).find((candidate) => candidate.id === id);
  if (!key) throw new ApiError('not_found', 'This account has no API key with this id.');
  return key;
}

/** How many valid keys an account may have, both modes together. */
const MAX_KEYS = 50;
/** Limited because a revoked key stays listed, and each new key gets its own rate window. */
const CREATES = { max: 100, seconds: 86_400 };
const MAX_CAP = 1_000_000_000;

const NameSchema = nameSchema(100);
const TimeSchema = Type.String({ maxLength: 40 });
const CapSchema = Type.Integer({ minimum: 0, maximum: MAX_CAP });

export type NewApiKey = ResultOf<typeof createOwnKey>;
/** A key's requests on each of the last days (UTC), oldest first. */
export type KeyRequests = ResultOf<typeof requestsOfOwnKey>;

/** Only this response has the secret, which is not stored. */
const createOwnKey = siteRoute('POST /console/api/keys', {
  rate: CREATES,
  proof: 'api_key',
  body: Type.Object({
    name: NameSchema,
    mode: Type.Optional(ModeSchema),
    expires_at: Type.Optional(TimeSchema),
    monthly_cap: Type.Optional(CapSchema),
  }),
  handle: async (deps: PageDeps, { body, request, reply, session }) => {
    const { db } = deps;
    const { accountId, sessionId } = session;
    const expiresAt = readExpiry(body.expires_at);
    const { keyId, secret } = await db.transaction(async (tx) => {
      await lockAccount(tx, accountId); // so that parallel creates don't exceed the limit
      if (!(await isSessionLive(tx, sessionId)))
        throw new ApiError('unauthorized', 'Sign in again.');
      if ((await countValidKeys(tx, accountId)) >= MAX_KEYS) throw tooManyKeys();
      const { mode, monthly_cap: monthlyCap } = body;
      const key = { accountId, mode, name: body.name.trim(), expiresAt, monthlyCap };
      const made = await createKey(tx, key);
      const what = `An API key was created: ${made.keyId}`;
      await tellOwner(tx, { ...deps, request }, { accountId, what });
      return made;
    });
    reply.code(201);
    return { key: await readKey(db, accountId, keyId), secret };
  },
});

const requestsOfOwnKey = siteRoute('GET /console/api/keys/:id/requests', {
  handle: async ({ db }: PageDeps, { params, session: { accountId } }) => {
    const { id } = await readKey(db, accountId, params.id);
    return { days: (await recentRequests(db, [id], DAYS.page)).get(id) ?? [] };
  },
});

/** @throws ApiError `invalid_request` unless it is a time in the future */
function readExpiry(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = readIsoTime(text);
  if (time && time.getTime() > Date.now()) return time;
  throw invalidRequest('expires_at must be an ISO 8601 time in the future.', {
    field: 'expires_at',
    reason: time ? 'too_small' : 'malformed',
  });
}

/** Refuses a new expiry for an ended key: reviving such keys could exceed MAX_KEYS. */
function requireValid({ revoked_at: revoked, expires_at: expiry }: Omit<OwnKey, 'id'>): void {
  if (revoked === null && (expiry === null || expiry.getTime() > Date.now())) return;
  const details = { field: 'expires_at', reason: 'key_ended' };
  const message = 'This API key has expired or been revoked. Create another one.';
  throw invalidRequest(message, details);
}

function tooManyKeys(): ApiError {
  const message = `An account can have ${MAX_KEYS} valid API keys. Revoke one that is not used.`;
  return invalidRequest(message, { reason: 'too_many', limit: MAX_KEYS });
}

export const KEY_ROUTES = [
  siteRoute('GET /console/api/keys', {
    query: Type.Object({ mode: ModeSchema }),
    handle: async ({ db }: PageDeps, { query, session: { accountId } }) => {
      const keys = await readKeys(db, accountId);
      const items = keys.filter(({ mode }) => mode === query.mode);
      return { items, next: null, max_keys: MAX_KEYS };
    },
  }),
  createOwnKey,
  /** A cap or an expiry of null removes it. */
  siteRoute('PATCH /console/api/keys/:id', {
    proof: ({ monthly_cap: cap, expires_at: expiry }) =>
      cap === undefined && expiry === undefined ? undefined : 'api_key_cap',
    body: Type.Object({
      name: Type.Optional(NameSchema),
      monthly_cap: Type.Optional(Type.Union([CapSchema, Type.Null()])),
      expires_at: Type.Optional(Type.Union([TimeSchema, Type.Null()])),
    }),
    handle: async (deps: PageDeps, { body, params, request, session: { accountId } }) => {
      const { db } = deps;
      const { name, monthly_cap: monthlyCap, expires_at: expiry } = body;
      const { id, ...before } = await readKey(db, accountId, params.id);
      const expiresAt = expiry === null ? null : readExpiry(expiry);
      if (expiresAt !== undefined) requireValid(before);
      await db.transaction(async (tx) => {
        await updateKey(tx, id, { name: name?.trim(), monthlyCap, expiresAt });
        const isCapChanged = monthlyCap !== undefined && monthlyCap !== before.monthly_cap;
        const isExpiryChanged =
          expiresAt !== undefined && expiresAt?.getTime() !== before.expires_at?.getTime();
        if (!isCapChanged && !isExpiryChanged) return;
        const changed = isCapChanged ? 'monthly cap' : 'expiry';
        const also = isCapChanged && isExpiryChanged ? ', and so was its expiry' : '';
        const what = `The ${changed} of an API key was changed: ${id}${also}`;
        await tellOwner(tx, { ...deps, request }, { accountId, what });
      });
      return readKey(db, accountId, id);
    },
  }),
  siteRoute('DELETE /console/api/keys/:id', {
    handle: async ({ db }: PageDeps, { params, session: { accountId } }) => {
      const { id } = await readKey(db, accountId, params.id);
      await revokeKey(db, id);
      return readKey(db, accountId, id);
    },
  }),
  requestsOfOwnKey,
  siteRoute('POST /console/api/test-credits', {
    handle: async ({ db }: PageDeps, { session: { accountId } }) => {
      return { test_credits: await refillTestCredits(db, accountId) };
    },
  }),
];
