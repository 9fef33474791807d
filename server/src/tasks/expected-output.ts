import type { Resolution } from '../catalog/models.ts';
import type { GenerationRequest } from '../catalog/request.ts';
import { type Queryable, statement } from '../database/database.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';

const MEGABYTE = 2 ** 20;

/**
 * Expected bytes per second of output: twice those of a typical H.264 video with sound. Reserving
 * too much only refuses creates earlier.
 */
const BYTES_PER_SECOND: Record<Resolution, number> = {
  '480p': MEGABYTE / 2,
  '720p': MEGABYTE,
  '1080p': 2 * MEGABYTE,
  '4k': 8 * MEGABYTE,
};

/** Test outputs are so small that no space is reserved for them. */
const TEST_OUTPUT_BYTES = 32_768;

/** Disk space to keep free for a request's output, in bytes. */
export function expectedOutputBytes(
  { resolution, duration }: Pick<GenerationRequest, 'resolution' | 'duration'>,
  surface?: string,
): number {
  if (surface === TEST_SURFACE) return TEST_OUTPUT_BYTES;
  return BYTES_PER_SECOND[resolution] * duration;
}

// The index behind this contains live tasks only.
const LIVE = statement(
  'tasks_expected_output',
  `select request->>'resolution' as resolution, sum((request->>'duration')::int)::int8 as duration
   from tasks where due_at is not null and surface <> '${TEST_SURFACE}' group by 1`,
);

/** Disk space to keep free for the outputs of all live tasks, in bytes. */
export async function reservedOutputBytes(db: Queryable): Promise<number> {
  const rows = await db.query<{ resolution: Resolution; duration: number }>(LIVE);
  return rows.reduce((sum, row) => sum + expectedOutputBytes(row), 0);
}
