import { useState } from 'preact/hooks';
import { useLoad } from '../../load.ts';
import type { OperatorProviders } from '../../operator-shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { OperatorPage, Recorded } from './frame.tsx';
import { type Change, VerbDialog } from './verb-dialog.tsx';

type Provider = OperatorProviders['items'][number];

const TONES = {
  open: 'good',
  refusing: 'bad',
  paused: 'bad',
  closed: 'bad',
  trying: 'busy',
} as const;

/** Which providers take jobs, and whether creates are taken at all. */
export function ProvidersPage() {
  const loaded = useLoad('/console/api/operator/providers');
  const [change, setChange] = useState<Change>();
  return (
    <OperatorPage
      title="Providers"
      lead="Where tasks are submitted. A paused provider gets no new jobs; its running jobs go on."
    >
      <Load from={loaded} skeleton={<Skeleton lines={8} />}>
        {(providers) => (
          <>
            <Creates providers={providers} onAsk={setChange} />
            <Card title="Providers">
              <Table
                caption="Providers"
                columns={columns(setChange)}
                rows={providers.items}
                keyOf={({ provider }) => provider}
              />
            </Card>
          </>
        )}
      </Load>
      {change && (
        <VerbDialog
          change={change}
          onClose={() => setChange(undefined)}
          onDone={() => void loaded.reload()}
        />
      )}
    </OperatorPage>
  );
}

/** A provider that is not configured gets no jobs; a pause of it counts when it is again. */
function State({ provider: { state, is_configured: isConfigured } }: { provider: Provider }) {
  if (state === 'open' && !isConfigured) return <Badge>not configured</Badge>;
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

function columns(onAsk: (change: Change) => void): Column<Provider>[] {
  return [
    {
      title: 'Provider',
      cell: ({ provider, is_default: isDefault }) => (
        <div>
          <span class="font-medium">{provider}</span>
          {isDefault && <span class="text-sm text-dim"> default</span>}
        </div>
      ),
    },
    { title: 'State', cell: (provider) => <State provider={provider} /> },
    {
      title: 'Since',
      cell: ({ since }) => (since ? <RelativeTime at={since} /> : <span class="text-dim">–</span>),
    },
    { title: 'Reason', cell: ({ reason }) => <Recorded value={reason} /> },
    {
      title: 'Waiting tasks',
      kind: 'number',
      cell: (provider) => formatNumber(provider.waiting_tasks),
    },
    {
      title: '',
      cell: ({ provider, state }) => (
        <div class="flex gap-1.5 md:justify-end">
          {state !== 'paused' && (
            <Button
              small
              aria-label={`Pause ${provider}`}
              onClick={() => onAsk({ verb: 'providers pause', given: { provider } })}
            >
              Pause
            </Button>
          )}
          {state !== 'open' && state !== 'refusing' && (
            <Button
              small
              aria-label={`Resume ${provider}`}
              onClick={() => onAsk({ verb: 'providers resume', given: { provider } })}
            >
              Resume
            </Button>
          )}
        </div>
      ),
    },
  ];
}

function Creates({
  providers,
  onAsk,
}: {
  providers: OperatorProviders;
  onAsk: (change: Change) => void;
}) {
  const isOpen = providers.creates === 'open';
  return (
    <Card
      title="Creates"
      actions={
        <Button small onClick={() => onAsk({ verb: isOpen ? 'creates pause' : 'creates resume' })}>
          {isOpen ? 'Pause creates' : 'Resume creates'}
        </Button>
      }
    >
      <Badge tone={isOpen ? 'good' : 'bad'}>{isOpen ? 'accepted' : 'paused'}</Badge>
      {providers.since && (
        <p class="mt-2 text-dim">
          <RelativeTime at={providers.since} />: {providers.reason}
        </p>
      )}
    </Card>
  );
}
