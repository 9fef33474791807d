import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readConfig } from '../../src/config/config.ts';
import { type Database, statement } from '../../src/database/database.ts';
import { audit } from '../../src/operator/audit.ts';
import { showTask } from '../../src/operator/listings/task-records.ts';
import { startService } from '../../src/service.ts';
import type { GuardedFetchSettings } from '../../src/service-parts.ts';
import { type Client, client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, quiet } from '../database.ts';
import { serviceEnvironment } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { TEST_CA_FILE } from '../tls/certificates.ts';
import { until } from '../until.ts';
import { makeImage, makeVideo } from './media-files.ts';
import { startMediaHost } from './media-host.ts';

/** The whole service in this process, and a host from which it may download. */
export type MediaFixture = Awaited<ReturnType<typeof openMediaFixture>>;

/** A task as operators see it. */
interface ShownTask {
  id: string;
  phase: string;
  held_cause: string | null;
  seed: number;
  aspect_ratio: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into facts of every shape
  output_facts: any;
  history: { phase: string; cause: Record<string, unknown> | null }[];
  attempts: { state: string; job_id: string | null }[];
  objects: { id: string; role: string; state: string; media_type: string }[];
}

/** Host names that only this service resolves. */
const NAMES: Record<string, string[]> = {
  localhost: ['127.0.0.1'],
  'private.test': ['127.0.0.1'],
  'half.private.test': ['8.8.8.8', '10.0.0.1'],
};

/** Starts the service; options and variables that are not given are those of every test service. */
export async function openMediaFixture(
  options: {
    guardedFetch?: GuardedFetchSettings;
    environment?: Record<string, string>;
    dataDir?: string;
  } = {},
) {
  const [database, host, folder, ca] = await Promise.all([
    createTestDatabase(),
    startMediaHost(),
    temporaryFolder(),
    readFile(TEST_CA_FILE, 'utf8'),
  ]);
  const { db, url: databaseUrl } = database;
  const dataDir = options.dataDir ?? folder.path;
  const allowed = [`localhost:${host.port}`, 'localhost:1'];
  const environment = serviceEnvironment({
    CREATE_WAIT_SECONDS: '240', // a busy machine takes a minute for 256 MB
    DATA_DIR: dataDir,
    OUTBOUND_ALLOW: allowed.join(','),
    ...options.environment,
  });
  const opened = {
    url: databaseUrl,
    directUrl: databaseUrl,
    db,
    created: false,
    exited: new Promise<string>(() => {}),
    close: async () => {},
  };
  const guardedFetch = { ca, resolve, ...options.guardedFetch };
  const service = await startService(readConfig(environment), opened, quiet, guardedFetch);
  return {
    database,
    db,
    host,
    dataDir,
    url: service.url ?? '',
    customer: async (credits: number): Promise<Client> => {
      const { secret } = await makeCustomer(db, credits);
      return client(service.url ?? '', secret);
    },
    /** Waits until the task is in one of these phases; `completed` or `failed` when not given. */
    settled: (taskId: string, ...phases: string[]) => settled(db, taskId, phases),
    /** Files in the storage and in the scratch directory. */
    storedFiles: async (): Promise<string[]> => [
      ...(await filesIn(path.join(dataDir, 'objects'))),
      ...(await filesIn(path.join(dataDir, 'scratch'))),
    ],
    /** Stops the service. @throws Error when the audit finds a problem */
    async close() {
      await service.stop();
      await host.close();
      const { problems } = await audit(db);
      await database.close();
      await folder[Symbol.asyncDispose]();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
  };
}

async function resolve(name: string) {
  const addresses = NAMES[name];
  if (!addresses) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' });
  return addresses.map((address) => ({ address, family: 4 }));
}

async function settled(db: Database, taskId: string, phases: string[]): Promise<ShownTask> {
  const wanted = phases.length > 0 ? phases : ['completed', 'failed'];
  const read = () => sql<{ phase: string }>(db, 'select phase from tasks where id = $1', [taskId]);
  await until(read, ([task]) => task !== undefined && wanted.includes(task.phase));
  const task = await showTask(db, taskId);
  if (!isShown(task)) throw new Error(`${taskId} is shown without its history`);
  return task;
}

function isShown(task: object): task is ShownTask {
  return 'phase' in task && 'history' in task && 'objects' in task && 'attempts' in task;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Waits until all objects of an ended task that have one of these roles, or any, are deleted. */
export async function deleted(
  fixture: MediaFixture,
  taskId: string,
  ...roles: string[]
): Promise<void> {
  const text = `select id, role, state from stored_objects where owner_id = $1 and state <> 'deleted'
    and (cardinality($2::text[]) = 0 or role = any($2))`;
  await until(async () => (await sql(fixture.db, text, [taskId, roles])).length === 0);
}

/** The bytes of a still test picture. */
export const imageBytes = bytesOf(makeImage);
/** The bytes of a small test video. */
export const videoBytes = bytesOf(makeVideo);

function bytesOf<Options extends unknown[]>(
  make: (filePath: string, ...options: Options) => Promise<void>,
) {
  return async (...options: Options): Promise<Buffer> => {
    await using folder = await temporaryFolder();
    const filePath = path.join(folder.path, 'file');
    await make(filePath, ...options);
    return await readFile(filePath); // without await the folder would be deleted first
  };
}

/**
 * Locks an accepted task until its render exists and `work` has been called with the file's path:
 * the worker archives the file only afterwards.
 * @returns the path
 */
export function betweenRenderAndArchive(
  { db, dataDir }: MediaFixture,
  taskId: string,
  work: (file: string) => Promise<void>,
): Promise<string> {
  const rendered = `select object_id from local_jobs join attempts on job_id = local_jobs.id
    where task_id = $1 and local_jobs.object_id is not null`;
  return db.transaction(async (tx) => {
    await tx.query(statement('', 'set local idle_in_transaction_session_timeout = 0'));
    await tx.query(statement('', 'select 1 from tasks where id = $1 for update'), [taskId]);
    const [{ object_id: objectId } = { object_id: '' }] = await until(
      () => sql<{ object_id: string }>(db, rendered, [taskId]),
      (rows) => rows.length > 0,
    );
    const file = path.join(dataDir, 'objects', objectId.slice(-2), objectId);
    await work(file);
    return file;
  });
}
