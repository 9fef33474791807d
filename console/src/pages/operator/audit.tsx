import { useEffect, useState } from 'preact/hooks';
import { useLoad } from '../../load.ts';
import type { OperatorAudit } from '../../operator-shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime, formatNumber } from '../../ui/format.tsx';
import { Empty, Load } from '../../ui/states.tsx';
import { OperatorPage } from './frame.tsx';
import { VerbDialog } from './verb-dialog.tsx';

const REFRESH_MS = 2000;

/** Audits that run in the background, and what the last ones found. */
export function AuditPage() {
  const loaded = useLoad('/console/api/operator/audits');
  const [isAsking, setAsking] = useState(false);
  const { reload } = loaded;
  const isRunning = loaded.data?.items[0]?.ended_at === null;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [isRunning, reload]);
  return (
    <OperatorPage
      title="Audit"
      lead="Proves that balances, tasks, attempts, files and orders agree. It reads everything, beside the service."
      actions={
        <Button look="primary" disabled={isRunning} onClick={() => setAsking(true)}>
          {isRunning ? 'An audit is running' : 'Run an audit'}
        </Button>
      }
    >
      <Load from={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No audit was started here yet">
              Run one after a restore, and from time to time.
            </Empty>
          ) : (
            items.map((run) => <Run key={run.id} run={run} />)
          )
        }
      </Load>
      {isAsking && (
        <VerbDialog
          change={{ verb: 'audit', given: { storage: false } }}
          onClose={() => setAsking(false)}
          onDone={() => void loaded.reload()}
        />
      )}
    </OperatorPage>
  );
}

function Run({ run }: { run: OperatorAudit }) {
  return (
    <Card>
      <div class="flex flex-wrap items-baseline gap-x-5 gap-y-2">
        <Result run={run} />
        <DateTime at={run.started_at} />
        <span class="text-dim">{run.actor}</span>
      </div>
      {run.failure && <p class="mt-3">{run.failure}</p>}
      {run.problems && run.problems.length > 0 && (
        <ul class="mt-4 grid list-disc gap-1 pl-5">
          {run.problems.map((problem) => (
            <li key={problem} class="break-words">
              {problem}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Result({ run: { ended_at, found } }: { run: OperatorAudit }) {
  if (ended_at === null) return <Badge tone="busy">running</Badge>;
  if (found === null) return <Badge tone="bad">not finished</Badge>;
  if (found === 0) return <Badge tone="good">everything agrees</Badge>;
  return <Badge tone="bad">{`${formatNumber(found)} contradictions`}</Badge>;
}
