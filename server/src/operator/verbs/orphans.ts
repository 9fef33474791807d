import { listOrphans } from '../../attempts/orphans.ts';
import { acknowledgeOrphan } from '../acknowledge-orphan.ts';
import { flag, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const ORPHANS = {
  'orphans list': verb({
    summary: 'List provider jobs that no task uses; --all: also acknowledged ones',
    fields: { all: flag('Also acknowledged ones.') },
    cursorOf: (row: { provider: string; job_id: string }) => `${row.provider}/${row.job_id}`,
    run: ({ db, page }, { all }) => listOrphans(db, { all, ...page }),
  }),
  'orphans acknowledge': verb({
    summary: 'Leave an orphan job out of lists and metrics: you have dealt with it',
    fields: {
      provider: text('The provider that has the job.', { word: 'PROVIDER', max: 100 }),
      job_id: text('The id of the job at the provider.', { word: 'JOB_ID' }),
    },
    words: ['provider', 'job_id'],
    reason: 'required',
    dialog: { title: 'Acknowledge the orphan job' },
    run: ({ db }, input, action) => acknowledgeOrphan(db, action, input),
  }),
};
