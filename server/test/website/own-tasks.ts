import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { markReady, type ObjectRole, storeFile } from '../../src/storage/objects.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { CreateDeps } from '../../src/tasks/create/create.ts';
import type { Credentials, FailureCode, Task } from '../../src/tasks/task.ts';
import { moveNow } from '../../src/tasks/transitions.ts';
import {
  bindingFor,
  completeNow,
  createTask,
  PRICE,
  REQUEST,
  requestFor,
  sql,
} from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A task of an account, as a test wants it. */
interface OwnTask {
  prompt?: string;
  model?: 'video-2.0' | 'video-2.0-fast' | 'video-2.0-mini';
  surface?: 'api' | 'web' | 'test';
  apiKeyId?: string;
  /** An ISO time. */
  createdAt?: string;
  /** How it has ended; it is in work if this is not given. */
  ended?: 'completed' | FailureCode;
  /** The video of a completed task. */
  video?: Buffer;
  poster?: Buffer;
}

const FACTS = {
  kind: 'video',
  mediaType: 'video/mp4',
  width: 1280,
  height: 720,
  durationSeconds: 5.04,
  frames: 121,
  videoCodec: 'h264',
  audio: { codec: 'aac', durationSeconds: 5 },
  credentials: {
    kind: 'signed',
    isModel: true,
    at: '2026-11-28T12:00:00.000Z',
    parent: 'invalid',
  } satisfies Credentials,
};

type MakerDeps = Omit<CreateDeps, 'createWaitSeconds'> & {
  /** The connection of the tasks. */
  providerName?: string;
  /** Where the files of completed tasks go. */
  storage?: Storage;
};

/** Makes tasks in the database, with their credits and files, without a worker. */
export function taskMaker(deps: MakerDeps) {
  const { db } = deps;
  const store = async (taskId: string, role: ObjectRole, bytes: Buffer) => {
    await using folder = await temporaryFolder();
    const filePath = path.join(folder.path, 'file');
    await writeFile(filePath, bytes);
    const mediaType = role === 'poster' ? 'image/webp' : 'video/mp4';
    if (!deps.storage) throw new Error('a completed task needs a storage');
    const id = await storeFile(
      { db, storage: deps.storage },
      { filePath, ownerId: taskId, role, mediaType },
    );
    await markReady(db, [id], 7);
    return id;
  };
  const end = async (task: Task, ended: NonNullable<OwnTask['ended']>, video: Buffer) => {
    if (ended !== 'completed') {
      const error = { code: ended, message: `It failed: ${ended}.` };
      return moveNow(db, task, { to: 'failed', changes: { error } });
    }
    const outputObjectId = await store(task.id, 'output', video);
    return completeNow(db, task, { outputObjectId, outputFacts: FACTS });
  };
  return async (accountId: string, own: OwnTask = {}): Promise<string> => {
    const { prompt = REQUEST.prompt, model = REQUEST.model, surface = 'api' } = own;
    const { ended, video = Buffer.from('a video') } = own;
    const binding = { ...bindingFor(accountId), surface, requestId: 'req_test' };
    const order = requestFor(binding, { ...REQUEST, prompt, model }, PRICE, deps.providerName);
    const { task } = await createTask({ ...deps, createWaitSeconds: 0 }, order);
    if (ended) await end(task, ended, video);
    if (own.poster) await store(task.id, 'poster', own.poster);
    await sql(
      db,
      `update tasks set created_at = coalesce($2::timestamptz, created_at), api_key_id = $3
       where id = $1`,
      [task.id, own.createdAt ?? null, own.apiKeyId ?? null],
    );
    return task.id;
  };
}
