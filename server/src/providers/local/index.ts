import type { Database } from '../../database/database.ts';
import { markReady, markUnfinished, storeFile } from '../../storage/objects.ts';
import { ObjectMissing, type Storage } from '../../storage/storage.ts';
import type { ProviderDefinition } from '../definition.ts';
import { OutputGone } from '../provider.ts';
import { OWN_JOBS } from './jobs.ts';
import { createLocalProvider, type RenderFiles } from './local.ts';

/** How long a finished render is kept for the service to copy it. */
const RENDER_DAYS = 1;

/** The local renderer: it has no variables and is always configured. */
export const local: ProviderDefinition<object> = {
  name: 'local',
  registeredBy: [],
  readSettings: () => ({}),
  apiKey: () => undefined,
  baseUrls: () => ({}),
  fetchesInputs: false,
  ownJobs: OWN_JOBS,
  create: (_settings, { db, storage, scratch, log }) =>
    createLocalProvider({ db, scratch, log, files: renderFiles(db, storage) }),
};

/** Inputs and renders in the service's own storage. */
function renderFiles(db: Database, storage: Storage): RenderFiles {
  return {
    async open(objectId) {
      return storage.open(objectId).catch((cause: unknown) => {
        if (cause instanceof ObjectMissing) throw new OutputGone('the object is gone', { cause });
        throw cause;
      });
    },
    async keep(filePath, jobId) {
      const file = { filePath, ownerId: jobId, role: 'render', mediaType: 'video/mp4' } as const;
      await markUnfinished(db, jobId, 'render'); // the object of an earlier, interrupted render
      const objectId = await storeFile({ db, storage }, file);
      await markReady(db, [objectId], RENDER_DAYS);
      return objectId;
    },
  };
}
