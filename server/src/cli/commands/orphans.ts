import { acknowledgeOrphan, listOrphans } from '../../operator/orphan-listing.ts';
import type { Command } from '../command.ts';

export const ORPHAN_COMMANDS: readonly Command[] = [
  {
    usage: 'orphans list [--all]',
    summary: 'List provider jobs that no task uses; --all: also acknowledged ones',
    options: [],
    flags: ['all'],
    cursorOf: (row: { provider: string; job_id: string }) => `${row.provider}/${row.job_id}`,
    run: (db, { options: { all }, page: { limit, after } }) =>
      listOrphans(db, { all: all !== undefined, after, limit }),
  },
  {
    usage: 'orphans acknowledge PROVIDER JOB_ID --reason TEXT',
    summary: 'Leave an orphan job out of lists and metrics: you have dealt with it',
    options: [],
    reason: 'required',
    run: (db, { words: [provider = '', jobId = ''], action }) =>
      acknowledgeOrphan(db, action, { provider, jobId }),
  },
];
