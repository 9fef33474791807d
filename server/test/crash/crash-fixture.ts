import path from 'node:path';
import type { Database } from '../../src/database/database.ts';
import { SMALLEST } from '../client.ts';
import { createTestDatabase } from '../database.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import { type KeyTask, tasksOfKey } from '../service/end-state.ts';
import { startWebhookReceiver } from '../service/webhook-receiver.ts';
import { simulatedBucket } from '../storage/simulated-bucket.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

/** What {@link CrashFixture.body} costs: 4 s of the mini model in 480p. */
export const VIDEO_CREDITS = 60;
export const VIDEO_MODEL = SMALLEST.model;
/** A program that starts the service with {@link withCrashPoints} under it. */
export const CRASHING_SERVICE = [new URL('./crashing-service.ts', import.meta.url).pathname];
/** Longer than the leases of tasks and renders, shorter than the wait of a create. */
const PAST_LEASES_SECONDS = 11;

/** A database, a data folder and a client's media host that outlive the services that use them. */
export type CrashFixture = Awaited<ReturnType<typeof openCrashFixture>>;

/** Waits until the newest task of the key is in one of these phases. */
export async function untilPhase(db: Database, key: string, ...phases: string[]): Promise<KeyTask> {
  const [task] = await until(
    () => tasksOfKey(db, key),
    ([newest]) => newest !== undefined && phases.includes(newest.phase),
  );
  return task as KeyTask;
}

type CrashMode = 'text-to-video' | 'image-to-video';

/** @param hasBucket whether the services store files in a bucket */
export async function openCrashFixture(mode: CrashMode, hasBucket = false) {
  const database = await createTestDatabase();
  const folder = await temporaryFolder();
  const host = await startMediaHost();
  const receiver = await startWebhookReceiver();
  const bucket = hasBucket ? await simulatedBucket() : undefined;
  const picture = { kind: 'bytes', bytes: await imageBytes('png', 96, 54) } as const;
  const imageUrl = host.serve('/frame.png', picture);
  const dataDir = path.join(folder.path, 'data');
  let clockSeconds = 0;
  return {
    database,
    dataDir,
    host,
    receiver,
    /** The data folder, or the ids of what is in the bucket. */
    stored: bucket ? () => idsIn(bucket) : dataDir,
    /** How the host serves a picture. */
    picture,
    /** A request for the shortest and smallest video. */
    body: {
      ...SMALLEST,
      mode,
      seed: 1,
      ...(mode === 'image-to-video' ? { image_url: imageUrl } : {}),
    },
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      OUTBOUND_ALLOW: `localhost:${host.port},${receiver.host}`,
      POLL_MIN_SECONDS: '0.05',
      POLL_MAX_SECONDS: '0.1',
      CREATE_WAIT_SECONDS: '120',
      CONTENT_CREDENTIALS: 'on',
      ...(bucket && {
        STORAGE_URL: bucket.url,
        AWS_ACCESS_KEY_ID: bucket.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: bucket.credentials.secretAccessKey,
      }),
    },
    /** Moves the database's clock past all leases. */
    async expireLeases() {
      clockSeconds += PAST_LEASES_SECONDS;
      await database.setClock(clockSeconds);
    },
    async [Symbol.asyncDispose]() {
      await host.close();
      await receiver.close();
      await bucket?.s3[Symbol.asyncDispose]();
      await database.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function idsIn({ s3 }: Awaited<ReturnType<typeof simulatedBucket>>): string[] {
  const keys = [...(s3.buckets.get('videos')?.keys() ?? [])];
  return keys.map((key) => path.basename(key)).sort();
}
