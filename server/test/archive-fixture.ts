import path from 'node:path';
import { Readable } from 'node:stream';
import { openScratchDirectory } from '../src/kernel/scratch-directory.ts';
import type { VideoFacts } from '../src/media/measurement.ts';
import { diskStorage } from '../src/storage/disk.ts';
import { moveNow } from '../src/tasks/transitions.ts';
import type { ArchiveDeps } from '../src/worker/archive.ts';
import {
  makeSubmittingTask,
  openTaskFixture,
  recordAccepted,
  scriptedProvider,
  VIDEO_FACTS,
} from './task-fixtures.ts';
import { openTestFolder } from './temporary-folder.ts';

interface Given extends Partial<ArchiveDeps> {
  bytes?: Buffer;
  facts?: Partial<VideoFacts>;
  poster?: Buffer | undefined;
}

/** Tasks that wait for the archive step, and its dependencies, until the tests of the file are over. */
export async function openArchiveFixture(end?: 'audited') {
  const fixture = await openTaskFixture(end);
  const folder = await openTestFolder();
  const { db } = fixture;
  const storage = diskStorage(path.join(folder.path, 'objects'));
  const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
  return {
    ...fixture,
    folder: folder.path,
    storage,
    scratch,
    /** The step takes any bytes for a video with these facts, and for its poster if there is one. */
    archiveDeps({ bytes = Buffer.from('a video'), facts, poster, ...changes }: Given = {}) {
      const provider = scriptedProvider({ openOutput: async () => Readable.from([bytes]) });
      const measured = { kind: 'measured', facts: { ...VIDEO_FACTS, ...facts } } as const;
      const deps: ArchiveDeps = {
        db,
        storage,
        scratch,
        outputMeasurer: { measure: async () => ({ ...measured, ...(poster && { poster }) }) },
        outputFrames: 'keyframes',
        drawsPosters: true,
        credentials: undefined,
        providerOf: () => provider,
        retentionDays: 7,
        reconcileSeconds: 60,
      };
      return { ...deps, ...changes };
    },
    async makeArchivingTask() {
      const { task } = await makeSubmittingTask(fixture);
      await recordAccepted(db, task.id);
      const generating = await moveNow(db, task, { to: 'generating' });
      return moveNow(db, generating, { to: 'archiving', changes: { providerOutput: {} } });
    },
  };
}
