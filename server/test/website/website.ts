import type { InjectOptions, RouteOptions } from 'fastify';
import { emailOf } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/database/database.ts';
import { UsageError } from '../../src/kernel/errors.ts';
import { sendDueMails } from '../../src/mail/outbox.ts';
import { openOverview } from '../../src/operator/overview.ts';
import { addressOf } from '../../src/reports/reports.ts';
import type { UploadDeps } from '../../src/requests/receive-upload.ts';
import { beginSession } from '../../src/sign-in/sessions.ts';
import { type SiteDeps, site } from '../../src/site/site.ts';
import {
  openTestApp,
  type ParsedResponse,
  PUBLIC_URL,
  parseResponse,
  type TestApp,
} from '../app.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { sql } from '../task-fixtures.ts';

/** The address of the website in tests: what changes something must have it as its `Origin`. */
export const ORIGIN = PUBLIC_URL;

/** An account that is signed in, in a browser on a page of ours. */
export interface TestVisitor {
  accountId: string;
  email: string;
  /** A Cookie header. */
  cookie: string;
  /** Sends a request as a page of ours does; `headers` overrides the cookie and the origin. */
  send(request: InjectOptions): Promise<ParsedResponse>;
  get(url: string): Promise<ParsedResponse>;
  /** Sends a body as JSON; by POST, if no other method is given. */
  write(url: string, body?: object, method?: 'POST' | 'PUT' | 'PATCH'): Promise<ParsedResponse>;
  delete(url: string): Promise<ParsedResponse>;
  /** Creates a video, with an Idempotency-Key of its own if none is given. */
  create(body: unknown, key?: string, mode?: 'live' | 'test'): Promise<ParsedResponse>;
  /** Uploads a file, as a PNG if the headers say nothing else. */
  upload(bytes: Buffer, headers?: Record<string, string>): Promise<ParsedResponse>;
}

export interface TestWebsite extends TestApp {
  /** The mails that were sent, unless the settings have another `sendMail`. */
  outbox: Array<Parameters<SiteDeps['sendMail']>[0]>;
  /** Sends the mails that wait in the database. */
  sendMails(): Promise<void>;
  /** Every route of the website with its schema and access, without HEAD. */
  routes: RouteOptions[];
  /** A visitor of the website who is not signed in. */
  stranger: TestVisitor;
  /** A browser with this cookie. */
  visitor(who: Pick<TestVisitor, 'accountId' | 'email' | 'cookie'>): TestVisitor;
  /** A new account that is signed in. An operator has an address of ADMIN_EMAILS. */
  signIn(options?: { credits?: number; isOperator?: boolean }): Promise<TestVisitor>;
  /** Makes the last proof of a visitor's sessions too old for what needs a fresh one. */
  outdateProof(visitor: Pick<TestVisitor, 'accountId'>): Promise<void>;
}

/** Builds the app with the website, on a database of its own; there is no worker. */
export async function openTestWebsite(
  settings: Partial<SiteDeps & UploadDeps> | ((db: Database) => Promise<Partial<SiteDeps>>) = {},
): Promise<TestWebsite> {
  const adminEmails = new Set<string>();
  const outbox: TestWebsite['outbox'] = [];
  const siteDeps = {
    log: quiet,
    signupCredits: 0,
    isMailLogged: false,
    reportDays: 90,
    issuers: new Map(),
    openSetUp: () => Promise.reject(new UsageError('this test configures no service')),
    routing: {
      connectionsFor: () => [{ connection: 'local' }],
      usualConnectionsFor: () => ['local'],
    },
    sendMail: async (mail: TestWebsite['outbox'][number]) => {
      outbox.push(mail);
      return true;
    },
  };
  const routes: RouteOptions[] = [];
  const uploads = typeof settings === 'function' ? {} : settings;
  const opened = await openTestApp({
    uploads,
    ...(uploads.storage && { storage: uploads.storage }),
    ...(uploads.brand && { brand: uploads.brand }),
    site: (deps) => async (app) => {
      app.addHook('onRoute', (route) => {
        if (route.method !== 'HEAD') routes.push(route);
      });
      const given = typeof settings === 'function' ? await settings(deps.db) : settings;
      const overview = openOverview(deps.db);
      return site(app, { ...deps, ...siteDeps, overview, adminEmails, ...given });
    },
  });
  const { db } = opened.database;
  return {
    ...opened,
    routes,
    outbox,
    sendMails: () => sendDueMails({ db, ...siteDeps, addressOf: (id) => addressOf(db, id) }),
    async outdateProof({ accountId }) {
      const earlier = `clock_now() - interval '11 minutes'`;
      const update = `update sessions set created_at = ${earlier}, proved_at = null`;
      await sql(db, `${update} where account_id = $1`, [accountId]);
    },
    stranger: visitor(opened, { accountId: '', email: '', cookie: '' }),
    visitor: (who) => visitor(opened, who),
    async signIn({ credits = 0, isOperator = false } = {}) {
      const { accountId } = await makeCustomer(db, credits);
      const email = (await emailOf(db, accountId)) ?? '';
      if (isOperator) adminEmails.add(email.toLowerCase());
      const from = { method: 'code', network: '127.0.0.0/24', browser: 'Test' };
      const token = await beginSession(db, accountId, from);
      return visitor(opened, { accountId, email, cookie: `framewright=${token}` });
    },
  };
}

/** Sends requests as a browser does on a page of ours. */
function visitor(
  { app }: TestApp,
  { accountId, email, cookie }: Pick<TestVisitor, 'accountId' | 'email' | 'cookie'>,
): TestVisitor {
  const send = async (request: InjectOptions) => {
    const headers = { origin: ORIGIN, ...(cookie !== '' && { cookie }), ...request.headers };
    return parseResponse(await app.inject({ ...request, headers }));
  };
  const json = 'application/json';
  return {
    accountId,
    email,
    cookie,
    send,
    get: (url) => send({ method: 'GET', url }),
    write: (url, body = {}, method = 'POST') =>
      send({ method, url, payload: JSON.stringify(body), headers: { 'content-type': json } }),
    delete: (url) => send({ method: 'DELETE', url }),
    create: (body, key = crypto.randomUUID(), mode = 'live') =>
      send({
        method: 'POST',
        url: `/console/api/${mode === 'test' ? 'test-' : ''}generations`,
        payload: JSON.stringify(body),
        headers: { 'content-type': json, 'idempotency-key': key },
      }),
    upload: (payload, headers = {}) =>
      send({
        method: 'POST',
        url: '/console/api/uploads',
        payload,
        headers: { 'content-type': 'image/png', ...headers },
      }),
  };
}
