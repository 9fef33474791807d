import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import { type ScratchDirectory, writeStream } from '../../kernel/scratch-directory.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import type { PosterMaker } from '../../media/poster/poster.ts';
import { storeFile, withdrawnOnFailure } from '../../storage/objects.ts';
import {
  type DueOutput,
  giveUpPoster,
  markPosterReady,
  takeDueOutput,
} from '../../storage/posters.ts';
import type { Storage } from '../../storage/storage.ts';
import { report, secondsSince } from '../../telemetry/reports.ts';
import { readTasks } from '../task.ts';

export interface PosterDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  posterMaker: PosterMaker;
  log: Log;
  signal: AbortSignal;
}

/** Newest output first, one at a time. The completed tasks never change because of a poster. */
export async function drawPosters(deps: PosterDeps): Promise<void> {
  while (!deps.signal.aborted) {
    const output = await takeDueOutput(deps.db);
    if (!output) return;
    await tryPoster(deps, output);
  }
}

async function tryPoster(deps: PosterDeps, output: DueOutput): Promise<void> {
  const startedAt = performance.now();
  const task = output.task_id;
  const outcome = await drawOne(deps, output).catch((error: Error) => {
    if (deps.signal.aborted) return 'void' as const; // the process shuts down
    const { tries } = output;
    deps.log.warn({ task, tries, err: error.message }, 'a poster could not be drawn');
    return 'failed' as const;
  });
  report('poster', { outcome, seconds: secondsSince(startedAt) });
}

/** @returns `void`: the output was deleted meanwhile, or taken by a later try */
async function drawOne(deps: PosterDeps, output: DueOutput): Promise<'drawn' | 'refused' | 'void'> {
  const { db, storage, scratch, posterMaker, log, signal } = deps;
  const [task] = await readTasks(db, [output.task_id]);
  if (!task) return 'void';
  if (task.surface === TEST_SURFACE) {
    await giveUpPoster(db, output.id, output.tries); // all test videos look the same
    return 'void';
  }
  return scratch.withFolder(async (folder) => {
    const filePath = path.join(folder, 'output');
    await writeStream(await storage.open(output.id), filePath);
    const drawn = await posterMaker.draw(filePath, { source: task.provider, signal });
    if (drawn.kind === 'refused') {
      const ids = { task: task.id, cause: drawn.explanation };
      log.warn(ids, 'no poster can be drawn from the video');
      await giveUpPoster(db, output.id, output.tries);
      return 'refused';
    }
    const posterPath = path.join(folder, 'poster');
    await writeFile(posterPath, drawn.webp, { mode: 0o600 });
    return storePoster(deps, output, posterPath);
  });
}

async function storePoster(
  { db, storage }: PosterDeps,
  output: DueOutput,
  filePath: string,
): Promise<'drawn' | 'void'> {
  const ownerId = output.task_id;
  const file = { filePath, ownerId, role: 'poster', mediaType: 'image/webp' } as const;
  const posterId = await storeFile({ db, storage }, file);
  const hasReadyFile = await withdrawnOnFailure(db, [posterId], () =>
    markPosterReady(db, output, posterId),
  );
  return hasReadyFile ? 'drawn' : 'void';
}
