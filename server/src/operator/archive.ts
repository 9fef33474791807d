import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../database/database.ts';
import { moveToArchive, tasksBefore } from '../tasks/archive/move-to-archive.ts';
import { type Action, recordAction } from './actions.ts';

/** How many tasks one transaction moves at most, so that it is short. */
const BATCH = 500;

const CUTOFF = statement(
  'archive_cutoff',
  `select clock_now() - $1::float8 * interval '1 day' as before`,
);

/** How often the progress is shown. */
const SHOW_MS = 5000;

/**
 * Moves the tasks that ended more than `days` ago, with their attempts, evidence, history and
 * objects, to the archive: one row each. Their Idempotency-Keys and their transfers stay where they
 * are. It works in short transactions and pauses after each as long as that took. An interrupted
 * run is continued by the next one; several may run at once.
 * @param show receives the progress, a line every few seconds
 * @returns `before`: tasks that ended before this time were looked at; ISO 8601, UTC
 */
export async function archiveTasks(
  db: Database,
  action: Action,
  { days, show = () => {} }: { days: number; show?: ((line: string) => void) | undefined },
  batch = BATCH,
) {
  const [cutoff] = await db.query<{ before: Date }>(CUTOFF, [days]);
  const before = cutoff?.before.toISOString() ?? '';
  const total = { before, archived: 0, kept_with_files: 0, kept_with_records: 0 };
  let cursor = { createdAt: '-infinity', id: '' };
  let shownAt = performance.now();
  for (;;) {
    const startedAt = performance.now();
    const page = await tasksBefore(db, { before, ...cursor, limit: batch });
    const last = page.at(-1);
    if (!last) return { ...total, changed: total.archived > 0 };
    cursor = last;
    const old = page.filter((task) => task.isOld).map(({ id }) => id);
    const moved = await db.transaction(async (tx) => {
      const result = await moveToArchive(tx, old);
      const isFirst = total.archived === 0 && result.archived > 0;
      if (isFirst) await recordAction(tx, action, { target: 'tasks', details: { days, before } });
      return result;
    });
    total.archived += moved.archived;
    total.kept_with_files += moved.kept_with_files;
    total.kept_with_records += moved.kept_with_records;
    if (performance.now() - shownAt > SHOW_MS) {
      shownAt = performance.now();
      show(`${total.archived} archived, now at tasks created ${last.createdAt}`);
    }
    await delay(performance.now() - startedAt);
  }
}
