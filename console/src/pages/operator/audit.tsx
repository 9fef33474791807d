import { useEvery, useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { DateTime, formatNumber } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column } from '../../ui/table.tsx';
import { AskButton, ListPage } from './frame.tsx';

type Audit = Item<'GET /console/api/operator/audits'>;

const REFRESH_MS = 2000;

/** Background audits, and the latest findings. */
export function AuditPage() {
  const list = useList('/console/api/operator/audits');
  const isRunning = list.items?.[0]?.ended_at === null;
  useEvery(isRunning ? REFRESH_MS : undefined, list.reload);
  return (
    <ListPage
      title="Audit"
      lead="Proves that balances, tasks, attempts, files and orders agree. It reads everything, beside the service."
      actions={
        <AskButton
          look="primary"
          disabled={isRunning}
          change={{ verb: 'audit', given: { storage: false } }}
        >
          {isRunning ? 'An audit is running' : 'Run an audit'}
        </AskButton>
      }
      list={list}
      empty={
        <Empty title="No audit was started here yet">
          Run one after a restore, and from time to time.
        </Empty>
      }
      caption="Audits"
      columns={COLUMNS}
      keyOf={({ id }) => id}
    />
  );
}

function Result({ run: { ended_at, found } }: { run: Audit }) {
  if (ended_at === null) return <Badge tone="busy">running</Badge>;
  if (found === null) return <Badge tone="bad">not finished</Badge>;
  if (found === 0) return <Badge tone="good">everything agrees</Badge>;
  return <Badge tone="bad">{`${formatNumber(found)} contradictions`}</Badge>;
}

const COLUMNS: Column<Audit>[] = [
  column('Started', (run) => <DateTime at={run.started_at} />),
  column('By', ({ actor }) => actor, 'prose'),
  column('Result', (run) => <Result run={run} />),
  column(
    'Problems',
    ({ failure, problems }) => (
      <div>
        {failure}
        {problems?.map((problem) => (
          <p key={problem}>{problem}</p>
        ))}
      </div>
    ),
    'prose',
  ),
];
