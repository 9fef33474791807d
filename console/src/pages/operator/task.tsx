import { useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { TestMark } from '../../ui/badge.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { Credits, DateTime, RelativeTime } from '../../ui/format.tsx';
import { type Column, column, mono, numbers, Table, TableCard } from '../../ui/table.tsx';
import { AccountLink, AskButton, Recorded, RecordPage } from './frame.tsx';
import { Phase } from './tasks.tsx';
import type { Change } from './verb-dialog.tsx';

type Task = Result<'GET /console/api/operator/verbs/tasks/show'>;
type Attempt = Task['attempts'][number];

export function TaskPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/verbs/tasks/show', { query: { id } });
  return (
    <RecordPage what="Task" id={id} loaded={loaded} buttons={buttonsOf}>
      {(task) => <Details task={task} />}
    </RecordPage>
  );
}

function buttonsOf(task: Task) {
  const { id, phase } = task;
  const given = { id };
  if (phase === 'completed' || phase === 'failed') {
    const share = task.shares.find(({ ended_at: ended }) => ended === null);
    return task.output_object_id === null ? null : (
      <>
        {share && (
          <AskButton change={{ verb: 'shares end', given: { id: share.id } }}>
            End the share
          </AskButton>
        )}
        <AskButton change={{ verb: 'objects take-down', given }}>Take the video down</AskButton>
      </>
    );
  }
  return (
    <>
      <AskButton look="primary" change={decisionOf(task)}>
        Decide
      </AskButton>
      <AskButton change={{ verb: 'tasks wake', given }}>Wake</AskButton>
      <AskButton change={{ verb: 'tasks cancel', given }}>Cancel the task</AskButton>
    </>
  );
}

function Details({ task }: { task: Task }) {
  return (
    <>
      <Card title="State">
        <Facts facts={factsOf(task)} />
      </Card>
      {task.attempts.map((attempt) => (
        <Attempt key={attempt.id} attempt={attempt} />
      ))}
      <TableCard title="History" caption="Transitions" rows={task.history} columns={TRANSITIONS} />
      <TableCard title="Files" rows={task.objects} columns={FILES} />
      <TableCard title="Shares" rows={task.shares} columns={SHARES} />
      <Card title="Request">
        <pre
          role="region"
          aria-label="The request"
          tabIndex={0}
          class="figures overflow-x-auto text-sm whitespace-pre-wrap break-words"
        >
          {JSON.stringify(task.request, null, 2)}
        </pre>
      </Card>
    </>
  );
}

/** What a held task waits for, by its cause. */
const UNKNOWNS: Record<string, string> = {
  acceptance: 'whether the provider accepted the job',
  outcome: 'how the accepted job has ended',
};

function factsOf(task: Task) {
  const { due_at: due, error_code: error, job_cost: cost, job_compute_seconds: computed } = task;
  const currency = task.job_cost_currency?.toUpperCase();
  return [
    { name: 'Phase', value: <Phase phase={task.phase} cause={task.held_cause} /> },
    { name: 'Not known', value: task.held_cause && UNKNOWNS[task.held_cause] },
    { name: 'Account', value: <AccountLink row={task} /> },
    { name: 'Surface', value: task.surface === 'test' ? <TestMark /> : task.surface },
    { name: 'Provider', value: task.provider },
    { name: 'Credits', value: <Credits value={task.credits} /> },
    { name: 'Reported cost', value: cost === null ? null : `${currency} ${cost}` },
    { name: 'Reported compute time', value: computed === null ? null : `${computed} s` },
    { name: 'Created', value: <DateTime at={task.created_at} /> },
    { name: 'Last change', value: <DateTime at={task.updated_at} /> },
    { name: 'Next step', value: due ? <DateTime at={due} /> : 'none' },
    { name: 'Content Credentials', value: credentialsOf(task) },
    { name: 'Error', value: error && `${error}: ${task.error_message}` },
  ];
}

const PARENTS = {
  none: '',
  valid: ', with the provider’s own as the parent',
  invalid: ', with the provider’s own, which are not valid, as the parent',
};

function credentialsOf({ output_facts: facts }: Task) {
  const credentials = facts?.credentials;
  if (credentials?.kind === 'signed') return `signed${PARENTS[credentials.parent]}`;
  return credentials && `none: ${credentials.why} ${credentials.cause ?? ''}`;
}

const TRANSITIONS: Column<Task['history'][number]>[] = [
  column('Time', ({ at }) => <DateTime at={at} />),
  column('Phase', ({ phase }) => phase),
  column('Cause', ({ cause }) => <Recorded value={cause} />),
];

const FILES: Column<Task['objects'][number]>[] = [
  mono('File', ({ id }) => id),
  column('Role', ({ role }) => role),
  column('State', (file) => (file.taken_down_at ? 'taken down' : file.state)),
];

const SHARES: Column<Task['shares'][number]>[] = [
  mono('Share', ({ id }) => id),
  column('Made', ({ created_at: at }) => <DateTime at={at} />),
  column('Ends', ({ ended_at: ended, ends_at: ends }) => {
    const at = ended ?? ends;
    return at === null ? 'when its owner ends it' : <DateTime at={at} />;
  }),
  numbers('Views', ({ views }) => views),
];

function Attempt({ attempt }: { attempt: Attempt }) {
  return (
    <Card
      title={`Attempt at ${attempt.provider}: ${attempt.state}`}
      note={
        <>
          <span class="figures break-all">{attempt.id}</span>, begun{' '}
          <RelativeTime at={attempt.created_at} />
          {attempt.job_id && (
            <>
              , job <span class="figures break-all">{attempt.job_id}</span>
            </>
          )}
          {attempt.outcome_by && `, outcome from: ${attempt.outcome_by}`}
        </>
      }
    >
      {attempt.evidence.length === 0 ? (
        <p class="text-dim">No evidence is recorded.</p>
      ) : (
        <Table caption="Evidence" rows={attempt.evidence} columns={EVIDENCE} />
      )}
    </Card>
  );
}

const EVIDENCE: Column<Attempt['evidence'][number]>[] = [
  column('From', ({ source }) => source),
  column('Finding', ({ finding }) => <Recorded value={finding} />),
  numbers('Times', ({ times }) => times),
  column('Last', (evidence) => <RelativeTime at={evidence.last_at} />),
];

/** An operator's decisions about a held task; other tasks can only be ended. */
const DECISIONS = [
  {
    field: 'accepted',
    words: 'There is a job',
    effect: 'The task goes on with this job, and its video is fetched.',
    label: 'The job’s id at the provider',
  },
  {
    field: 'not_accepted',
    words: 'There is certainly no job',
    effect: 'The task fails with a refund. It is never submitted again.',
  },
  {
    field: 'failed',
    words: 'End it with a refund',
    effect: 'A job that turns up later becomes an orphan job, which you may have to pay for.',
  },
];

/** The decisions of `framewright reconcile`. */
function decisionOf({ id, phase }: Task): Change {
  const change = { verb: 'reconcile', given: { id } } as const;
  if (phase === 'held') return { ...change, choices: DECISIONS };
  const effect = 'The task is not held: it can only be ended.';
  return { ...change, effect, choices: DECISIONS.filter(({ field }) => field === 'failed') };
}
