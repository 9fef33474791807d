import path from 'node:path';
import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import { createApp } from './http/app.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import type { Database } from './kernel/database.ts';
import { UsageError } from './kernel/errors.ts';
import type { Log } from './kernel/log.ts';
import { every } from './kernel/repeat.ts';
import { openSpool } from './kernel/spool.ts';
import { createMeasurer } from './media/measure.ts';
import type { OpenedDatabase } from './open-database.ts';
import { createDoor, type DoorOptions } from './outbound/door.ts';
import { createLocalProvider } from './providers/local/local.ts';
import { OutputGone, type Provider } from './providers/provider.ts';
import { openQueue } from './queue/queue.ts';
import { diskStorage } from './storage/disk.ts';
import { type Links, openLinks } from './storage/links.ts';
import { deleteDoomed, doomHalfWritten, markReady, storeFile } from './storage/objects.ts';
import { ObjectMissing, type Storage } from './storage/storage.ts';
import { createSteps, providerFor } from './tasks/steps.ts';
import { createWaiting } from './tasks/waiting.ts';
import { createWorker, type Worker } from './tasks/worker.ts';

const DELETE_SECONDS = 2;
const TEND_SECONDS = 60;
/** How long a finished local render is kept for the service to copy it. */
const RENDER_DAYS = 1;

export interface Service {
  /** Where the API listens; undefined without the api role. */
  url: string | undefined;
  /** Drains and closes everything, in the reverse order of the start. */
  stop(): Promise<void>;
}

/** What the configuration does not say of the door out: its time-outs, its look-up, its trust. */
export type DoorWishes = Omit<DoorOptions, 'allow'>;

/** Builds and joins all parts and starts the roles that are configured. */
export async function startService(
  config: Config,
  opened: OpenedDatabase,
  log: Log,
  door: DoorWishes = {},
): Promise<Service> {
  if (config.outboundAllowText !== '') {
    log.warn({ hosts: config.outboundAllowText }, 'OUTBOUND_ALLOW lets clients reach these hosts');
  }
  const closers: Array<() => Promise<unknown>> = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const url = await startParts(config, { ...opened, log, door }, closers);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Closers = Array<() => Promise<unknown>>;

async function startParts(
  config: Config,
  { db, url: databaseUrl, log, door }: OpenedDatabase & { log: Log; door: DoorWishes },
  closers: Closers,
): Promise<string | undefined> {
  const works = config.roles.has('worker');
  const metrics = createMetrics(db);
  await listenForMetrics(config, metrics, closers);
  const queue = await openQueue({ url: databaseUrl, db, log, work: works });
  closers.push(() => queue.close());
  const storage = diskStorage(path.join(config.dataDir, 'objects'));
  let publicUrl = config.publicUrl ?? '';
  const { deliverySeconds } = config;
  const links = await openLinks({ db, deliverySeconds, publicUrl: () => publicUrl });
  const worker = works
    ? await startWorker(config, { db, queue, storage, links, log, door }, closers)
    : undefined;
  const stopClaiming = async () => worker?.stopClaiming();
  if (!config.roles.has('api')) {
    closers.push(stopClaiming);
    return undefined;
  }
  const waiting = createWaiting({ db, log });
  const app = await createApp({
    ...config,
    ...{ db, queue, storage, links, waiting, log },
    providerName: config.provider,
    allow: config.outboundAllow,
    isReady: () => isReachable(db),
    onAnswer: metrics.countAnswer,
  });
  const listening = await listen(app, { host: config.host, port: config.port, variable: 'PORT' });
  publicUrl ||= listening;
  closers.push(async () => {
    waiting.stop(); // announces the waiting requests, so that they are answered 202
    await closeWithin(config.shutdownSeconds, app);
  }, stopClaiming);
  log.info({ url: listening }, 'the API is listening');
  return listening;
}

async function listenForMetrics(config: Config, metrics: Metrics, closers: Closers) {
  if (config.metricsPort === undefined) return;
  const { host, metricsPort: port } = config;
  await listen(metrics.app, { host, port, variable: 'METRICS_PORT' });
  closers.push(() => metrics.app.close());
}

async function listen(
  app: FastifyInstance,
  { host, port, variable }: { host: string; port: number; variable: string },
): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    await app.close();
    if (!(error instanceof Error && 'code' in error)) throw error;
    const cause = error.code === 'EADDRINUSE' ? 'it is taken' : error.message;
    throw new UsageError(
      `can't listen on ${host} port ${port}: ${cause}. Set ${variable} to another one.`,
    );
  }
}

/** Answers what is under way; no client that keeps its connection delays the end. */
async function closeWithin(seconds: number, app: FastifyInstance): Promise<void> {
  app.server.keepAliveTimeout = 1; // milliseconds, from the end of the answers still to come
  const timer = setTimeout(() => app.server.closeAllConnections(), seconds * 1000);
  await app.close().finally(() => clearTimeout(timer));
}

async function isReachable(db: Database): Promise<boolean> {
  return db.query({ name: 'ready', text: 'select 1' }).then(
    () => true,
    () => false,
  );
}

interface WorkerBasis {
  db: Database;
  queue: Awaited<ReturnType<typeof openQueue>>;
  storage: Storage;
  links: Links;
  log: Log;
  door: DoorWishes;
}

async function startWorker(config: Config, basis: WorkerBasis, closers: Closers): Promise<Worker> {
  const { db, storage, links, log } = basis;
  const spool = openSpool(path.join(config.dataDir, 'spool'));
  await spool.tend();
  const door = createDoor({ ...basis.door, allow: config.outboundAllow });
  closers.push(() => door.close());
  const providers = startProviders({ db, storage, spool, log }, closers);
  const steps = createSteps({
    ...config,
    ...{ db, storage, spool, door, links },
    measurer: createMeasurer(),
    outputMeasurer: createMeasurer({ concurrency: 1 }),
    providerOf: (task) => providerFor(providers, task),
    monotonic: () => performance.now(),
  });
  const worker = createWorker({ ...basis, steps });
  await worker.start();
  closers.push(() => worker.stop(config.shutdownSeconds));
  const tidying = new AbortController();
  const { signal } = tidying;
  every(DELETE_SECONDS, { name: 'deleting', log, signal }, () => deleteDoomed({ db, storage }));
  every(TEND_SECONDS, { name: 'tending the spool', log, signal }, () => spool.tend());
  closers.push(async () => tidying.abort());
  return worker;
}

function startProviders(
  parts: Pick<WorkerBasis, 'db' | 'storage' | 'log'> & { spool: ReturnType<typeof openSpool> },
  closers: Closers,
): Map<string, Provider> {
  const { db, storage } = parts;
  const local = createLocalProvider({
    ...parts,
    files: {
      open: (objectId) => openRender(storage, objectId),
      async keep(filePath, jobId) {
        const file = { filePath, taskId: jobId, role: 'render', mediaType: 'video/mp4' } as const;
        await doomHalfWritten(db, jobId, 'render');
        const objectId = await storeFile({ db, storage }, file);
        await markReady(db, [objectId], RENDER_DAYS);
        return objectId;
      },
    },
  });
  local.start?.();
  closers.push(async () => local.stop?.());
  return new Map([[local.name, local]]);
}

async function openRender(storage: Storage, objectId: string): Promise<Readable> {
  return storage.open(objectId).catch((cause: unknown) => {
    if (cause instanceof ObjectMissing) throw new OutputGone('the object is gone', { cause });
    throw cause;
  });
}
