import { useState } from 'preact/hooks';
import { useList, useLoad } from '../../load.ts';
import type { Item, Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Switch } from '../../ui/form/controls.tsx';
import { formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Empty, Load, Skeleton } from '../../ui/states.tsx';
import { Cell, type Column, column, numbers, TableCard } from '../../ui/table.tsx';
import { AskButton, Id, ListPage, OperatorPage, Recorded } from './frame.tsx';

type Orphan = Item<'GET /console/api/operator/verbs/orphans/list'>;
type Providers = Result<'GET /console/api/operator/providers'>;

type Provider = Providers['items'][number];

/** `refusing`: it rejects submits until its set-up is fixed, so there is nothing to resume. */
const TONES = {
  open: 'good',
  refusing: 'bad',
  paused: 'bad',
  closed: 'bad',
  trying: 'busy',
} as const;

export function ProvidersPage() {
  const loaded = useLoad('/console/api/operator/providers');
  return (
    <OperatorPage
      title="Providers"
      lead="Where tasks are submitted. A paused provider gets no new jobs; its running jobs go on."
      onDone={loaded.reload}
    >
      <Load from={loaded} skeleton={<Skeleton lines={8} />}>
        {(providers) => (
          <>
            <Creates {...providers} />
            <TableCard
              title="Providers"
              columns={PROVIDERS}
              rows={providers.items}
              keyOf={({ provider }) => provider}
            />
            <TableCard
              title="Last 24 hours"
              note="Of at most the 5000 newest tasks, without those of test keys. Uncertain: no response said whether the submit was accepted."
              columns={RECENT}
              rows={providers.recent}
              keyOf={({ provider }) => provider}
            />
            <TableCard
              title="Routes"
              columns={ROUTES}
              rows={providers.routes}
              keyOf={({ model }) => model}
            />
          </>
        )}
      </Load>
    </OperatorPage>
  );
}

/** An unconfigured provider gets no jobs; its pause applies once it is configured again. */
function State({ provider: { state, is_configured: isConfigured } }: { provider: Provider }) {
  if (state === 'open' && !isConfigured) return <Badge>not configured</Badge>;
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

const PROVIDERS: Column<Provider>[] = [
  column('Provider', ({ provider, is_default: isDefault }) => (
    <div>
      <span class="font-medium">{provider}</span>
      {isDefault && <span class="text-sm text-dim"> default</span>}
    </div>
  )),
  column('State', (provider) => <State provider={provider} />),
  column('Since', ({ since }) => <RelativeTime at={since} />),
  column('Reason', ({ reason }) => <Recorded value={reason} />),
  numbers('Waiting tasks', (provider) => formatNumber(provider.waiting_tasks)),
  column('', ({ provider, state, is_configured: isConfigured }) => (
    <div class="flex gap-1.5 md:justify-end">
      {state !== 'paused' && isConfigured && (
        <AskButton small item={provider} change={{ verb: 'providers pause', given: { provider } }}>
          Pause
        </AskButton>
      )}
      {state !== 'open' && state !== 'refusing' && (
        <AskButton small item={provider} change={{ verb: 'providers resume', given: { provider } }}>
          Resume
        </AskButton>
      )}
    </div>
  )),
];

type Recent = Providers['recent'][number];

/** How each connection's submits and jobs went. Minutes are from acceptance to the stored video. */
const RECENT: Column<Recent>[] = [
  column('Provider', ({ provider }) => <span class="font-medium">{provider}</span>),
  numbers('Accepted', ({ accepted }) => formatNumber(accepted)),
  numbers('Busy', ({ busy }) => formatNumber(busy)),
  numbers('Refused', ({ refused }) => formatNumber(refused)),
  numbers('Uncertain', ({ uncertain }) => formatNumber(uncertain)),
  numbers('Failed jobs', ({ failed }) => formatNumber(failed)),
  column('Median minutes', ({ medians }) =>
    medians.length === 0 ? (
      <span class="text-dim">–</span>
    ) : (
      <ul>
        {medians.map(({ model, seconds }) => (
          <li key={model}>
            {model} <span class="figures">{(seconds / 60).toFixed(1)}</span>
          </li>
        ))}
      </ul>
    ),
  ),
];

type Route = Providers['routes'][number];

/** Which connections take a model's tasks; a task that one did not accept goes to the next. */
const ROUTES: Column<Route>[] = [
  column('Model', ({ model }) => <span class="font-medium">{model}</span>),
  column('Steps', ({ steps, default_connection: name, is_served: isServed }) =>
    steps === null ? (
      <span class="text-dim">{name}, the default</span>
    ) : (
      <>
        <span class="figures break-all">{steps}</span>{' '}
        {!isServed && <Badge tone="bad">no running worker has any of these connections</Badge>}
      </>
    ),
  ),
  column('Choice', ({ steps, choice, retry_failed: retries }) =>
    steps === null ? '–' : `${choice}${retries ? ', retries failed jobs' : ''}`,
  ),
  column('', ({ model, steps }) => (
    <div class="flex gap-1.5 md:justify-end">
      <AskButton small item={model} change={{ verb: 'routes set', given: { model } }}>
        Set the route
      </AskButton>
      {steps !== null && (
        <AskButton
          small
          item={model}
          change={{ verb: 'routes set', given: { model, steps: 'none' } }}
        >
          Remove
        </AskButton>
      )}
    </div>
  )),
];

function Creates({ creates, since, reason }: Providers) {
  const isOpen = creates === 'open';
  return (
    <Card
      title="Creates"
      actions={
        <AskButton small change={{ verb: isOpen ? 'creates pause' : 'creates resume' }}>
          {isOpen ? 'Pause creates' : 'Resume creates'}
        </AskButton>
      }
    >
      <Badge tone={isOpen ? 'good' : 'bad'}>{isOpen ? 'accepted' : 'paused'}</Badge>
      {since && (
        <p class="mt-2 text-dim">
          <RelativeTime at={since} />: {reason}
        </p>
      )}
    </Card>
  );
}

/** Jobs that no task uses: they may cost money. */
export function OrphansPage() {
  const [all, setAll] = useState(false);
  return (
    <ListPage
      title="Orphan jobs"
      lead="Jobs at a provider that no task uses. You may be charged for them."
      list={useList('/console/api/operator/verbs/orphans/list', {
        query: { all: all ? 'yes' : '' },
      })}
      empty={<Empty title="No orphan job">All known jobs belong to tasks.</Empty>}
      columns={ORPHANS}
      keyOf={({ provider, job_id: job }) => `${provider}/${job}`}
    >
      <Switch label="Show acknowledged ones too" checked={all} onChange={setAll} />
    </ListPage>
  );
}

const ORPHANS: Column<Orphan>[] = [
  column('Job', ({ provider, job_id: job }) => (
    <Cell below={<span class="figures break-all">{job}</span>}>{provider} </Cell>
  )),
  column('State', ({ state }) => state),
  column('Found', (orphan) => <RelativeTime at={orphan.found_at} />),
  column('Task', ({ task_id: task }) => <Id href={`/operator/tasks/${task}`} id={task} />),
  column('The provider says', ({ status }) => <Recorded value={status} />),
  column('', ({ provider, job_id, acknowledged_at: at }) =>
    at ? (
      <span class="text-sm text-dim">
        acknowledged <RelativeTime at={at} />
      </span>
    ) : (
      <AskButton
        small
        item={job_id}
        change={{ verb: 'orphans acknowledge', given: { provider, job_id } }}
      >
        Acknowledge
      </AskButton>
    ),
  ),
];
