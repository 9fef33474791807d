import path from 'node:path';
import { after } from 'node:test';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { createKey } from '../src/accounts/api-keys.ts';
import { DEFAULT_BRAND } from '../src/brand/brand.ts';
import { BUILT_IN } from '../src/catalog/catalog.ts';
import { type AppDeps, createApp } from '../src/http/app.ts';
import { openScratchDirectory } from '../src/kernel/scratch-directory.ts';
import { createMeasurer } from '../src/media/measure.ts';
import { openUploads, type UploadDeps } from '../src/requests/receive-upload.ts';
import { openShares } from '../src/shares/shares.ts';
import { diskStorage } from '../src/storage/disk.ts';
import { openFreeSpace } from '../src/storage/free-space.ts';
import { openLinks } from '../src/storage/links.ts';
import { createWaiting } from '../src/tasks/waiting.ts';
import { openWakeUps } from '../src/tasks/wake-ups.ts';
import { parseBody } from './client.ts';
import { makeCustomer } from './customer.ts';
import { createTestDatabase, quiet } from './database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The HTTP server of the service on its own database. There is no worker: tasks stay as created. */
export type TestApp = Awaited<ReturnType<typeof openTestApp>>;

interface TestAppOptions
  extends Partial<Pick<AppDeps, 'storage' | 'deliveryMode' | 'brand' | 'catalog' | 'now'>> {
  /** How uploads are received, if not as the service does. */
  uploads?: Partial<UploadDeps>;
  deliverySeconds?: number;
  /** The website, on the other dependencies of the app. The default is none. */
  site?: (deps: AppDeps) => AppDeps['site'];
}

/** What a share may send on a day. */
export const SHARE_BYTES = 10_000;

/** The address of the service in tests. */
export const PUBLIC_URL = 'http://localhost:8080';

/**
 * Builds the app as the service does; it listens on a free port until the tests of the file, or the
 * test that opens it, are over.
 */
export async function openTestApp(options: TestAppOptions = {}) {
  const database = await createTestDatabase();
  const folder = await temporaryFolder();
  const { db } = database;
  const wakeUps = openWakeUps({ url: database.url, db, log: quiet });
  const { deliverySeconds = 60 } = options;
  const links = await openLinks({ db, deliverySeconds, publicUrl: () => 'http://media.test' });
  const space = openFreeSpace({
    folder: folder.path,
    hasObjects: false,
    reservedBytes: async () => 0,
  });
  const storage = options.storage ?? diskStorage(path.join(folder.path, 'objects'));
  const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
  const measurer = createMeasurer({ scratch });
  const shares = openShares({ db, log: quiet, links, dailyBytes: SHARE_BYTES });
  const deps: AppDeps = {
    db,
    publicUrl: () => PUBLIC_URL,
    uploads: openUploads({ db, storage, scratch, measurer, space, ...options.uploads }),
    wakeUps,
    links,
    log: quiet,
    createWaitSeconds: 0,
    providerName: 'local',
    routing: { connectionsFor: () => [{ connection: 'local' }] },
    providers: new Map(),
    waiting: createWaiting({ db, log: quiet }),
    clientHosts: { allow: new Set() },
    brand: options.brand ?? { current: () => DEFAULT_BRAND, fixed: {} },
    catalog: options.catalog ?? { current: () => BUILT_IN },
    now: options.now ?? (() => Date.now()),
    webhookHosts: {
      allow: new Set(),
      ports: [
        [443, 443],
        [1024, 65_535],
      ],
    },
    space,
    storage,
    shares,
    deliveryMode: options.deliveryMode ?? 'redirect',
    isReady: async () => true,
  };
  deps.site = options.site?.(deps);
  const app = await createApp(deps);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  after(async () => {
    await app.close();
    await shares.stop();
    await database.close();
    await folder[Symbol.asyncDispose]();
  });
  return {
    app,
    deps,
    database,
    /** Where `app` listens on the loopback. */
    url,
    /** A new account with these paid credits. */
    customer: async (credits: number) => {
      const { accountId, secret } = await makeCustomer(db, credits);
      return testCustomer({ app, db, accountId, secret });
    },
  };
}

/** An account that sends requests, with a new API key whenever a rate window is full. */
export type TestCustomer = ReturnType<typeof testCustomer>;

/** A response, with its JSON body parsed. */
export interface ParsedResponse {
  status: number;
  headers: LightMyRequestResponse['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

const REQUESTS_PER_KEY = 30;

type CustomerDeps = Pick<AppDeps, 'db'> & {
  app: FastifyInstance;
  accountId: string;
  secret: string;
};

function testCustomer({ app, db, accountId, secret }: CustomerDeps) {
  let current = secret;
  let sent = 0;
  const authorization = async () => {
    if (sent === REQUESTS_PER_KEY) {
      current = (await createKey(db, { accountId })).secret;
      sent = 0;
    }
    sent += 1;
    return `Bearer ${current}`;
  };
  const send = async (request: InjectOptions) => {
    const headers = { authorization: await authorization(), ...request.headers };
    return parseResponse(await app.inject({ ...request, headers }));
  };
  return {
    accountId,
    /** An Authorization header for one request, whose API key is below its rate limit. */
    authorization,
    /** Sends any request, with an Authorization header unless it brings one. */
    send,
    /** POST /video/generations; sends a text or bytes unchanged, other bodies as JSON. */
    create: (body: unknown, headers: Record<string, string> = {}) =>
      send({
        method: 'POST',
        url: '/api/v1/video/generations',
        headers: {
          'content-type': 'application/json',
          'idempotency-key': crypto.randomUUID(),
          ...headers,
        },
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
  };
}

/** The response of `app.inject`, with its body parsed unless it is CSV. */
export function parseResponse(response: LightMyRequestResponse): ParsedResponse {
  const { statusCode: status, headers, body } = response;
  const isCsv = String(headers['content-type']).startsWith('text/csv');
  return { status, headers, body: isCsv ? body : parseBody(body) };
}
