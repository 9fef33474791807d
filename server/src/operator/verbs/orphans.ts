import { listOrphans, markAcknowledged } from '../../attempts/orphans.ts';
import { UsageError } from '../../kernel/errors.ts';
import { performAction } from '../actions.ts';
import { flag, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const ORPHANS = {
  'orphans list': verb({
    summary: 'List provider jobs that no task uses; --all: also acknowledged ones',
    fields: { all: flag('Also acknowledged ones.') },
    cursorOf: (row: { provider: string; job_id: string }) => `${row.provider}/${row.job_id}`,
    run: ({ db, page }, { all }) => listOrphans(db, page.limit, all, page.after ?? null),
  }),
  'orphans acknowledge': verb({
    summary: 'Leave an orphan job out of lists and metrics: you have dealt with it',
    fields: {
      provider: text('The provider that has the job.', { word: 'PROVIDER', max: 100 }),
      job_id: text('The id of the job at the provider.', { word: 'JOB_ID' }),
    },
    positional: ['provider', 'job_id'],
    reason: 'required',
    dialog: { title: 'Acknowledge the orphan job' },
    run: ({ db }, { provider, job_id: jobId }, action) =>
      performAction(db, action, { target: `${provider}/${jobId}` }, async (tx) => {
        const changed = await markAcknowledged(tx, provider, jobId);
        if (changed === undefined) {
          throw new UsageError(`${provider} has no orphan job ${JSON.stringify(jobId)}`);
        }
        return { provider, job_id: jobId, acknowledged: true, changed };
      }),
  }),
};
