import { useState } from 'preact/hooks';
import { ApiFailure } from '../../api.ts';
import { Badge, Status } from '../../ui/badge.tsx';
import { Button, ButtonLink, IconButton, Link } from '../../ui/button.tsx';
import { Card, Facts, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { Confirm } from '../../ui/form/form-dialog.tsx';
import { Credits, DateTime, Money, RelativeTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, ErrorState, Skeleton } from '../../ui/states.tsx';
import { More, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Controls } from './controls.tsx';

/** All components on one page, for who builds pages, and for the tests of their looks. */
export default function KitPage() {
  return (
    <Page
      title="Components"
      lead="What pages are made of. This page is not linked; it is for who builds the others."
      actions={<Button icon="plus">An action</Button>}
    >
      <Buttons />
      <Controls />
      <Numbers />
      <Rows />
      <Card title="Code">
        <CodeTabs label="A request" samples={SAMPLES} />
      </Card>
      <States />
    </Page>
  );
}

const SAMPLES = {
  curl: 'curl -s https://video.example.com/api/v1/credits \\\n  -H "Authorization: Bearer $KEY"',
  TypeScript: "const response = await fetch('https://video.example.com/api/v1/credits');",
  Python: 'client.credits.get()',
};

function Buttons() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card
      title="Buttons"
      note={
        <>
          One primary button a page. A link: <Link href="/kit">kit</Link>.
        </>
      }
    >
      <div class="flex flex-wrap items-center gap-2.5">
        <Button look="primary" icon="play">
          Generate
        </Button>
        <Button>Plain</Button>
        <Button look="quiet">Quiet</Button>
        <Button look="danger" icon="trash" onClick={() => setOpen(true)}>
          Revoke
        </Button>
        <Button busy>Saving</Button>
        <Button disabled>Disabled</Button>
        <Button small icon="download">
          Small
        </Button>
        <ButtonLink href="/kit" icon="arrow">
          A link
        </ButtonLink>
        <IconButton icon="refresh" label="Refresh" onClick={() => toast('It is up to date')} />
      </div>
      {isOpen && (
        <Confirm
          onClose={() => setOpen(false)}
          title="Revoke this key?"
          action="Revoke the key"
          onConfirm={async () => toast('The key is revoked')}
        >
          Programs that use it get 401 from their next request on.
        </Confirm>
      )}
    </Card>
  );
}

const DAYS = Array.from({ length: 14 }, (_, day) => day);
const CHART = {
  times: DAYS.map((day) => 1_763_000_000 + day * 86_400),
  series: [{ label: 'Credits', values: DAYS.map((day) => 120 + ((day * 67) % 240)) }],
};

function Numbers() {
  return (
    <Card title="Numbers">
      <div class="mb-8 grid gap-6 sm:grid-cols-3">
        <Figure name="Available" note="promotional credits first">
          <Credits value={12840} />
        </Figure>
        <Figure name="Last invoice">
          <Money minor={4900} currency="EUR" />
        </Figure>
        <Figure name="Last video">
          <RelativeTime at="2026-11-01T12:00:00Z" />
        </Figure>
      </div>
      <Chart data={CHART} kind="bars" label="Credits by day" />
    </Card>
  );
}

const ROWS = [
  { id: 'task_01', at: '2026-11-21T09:12:44Z', state: 'completed', credits: -250 },
  { id: 'task_02', at: '2026-11-21T09:10:02Z', state: 'failed', credits: 0 },
  { id: 'task_03', at: '2026-11-21T09:08:30Z', state: 'processing', credits: -1250 },
];

function Rows() {
  return (
    <Card title="Rows" actions={<Badge tone="good">Up to date</Badge>}>
      <Table
        caption="Videos"
        rows={ROWS}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Task', kind: 'mono', cell: ({ id }) => id },
          { title: 'When', cell: ({ at }) => <DateTime at={at} /> },
          { title: 'State', cell: ({ state }) => <Status state={state} /> },
          {
            title: 'Credits',
            kind: 'number',
            cell: ({ credits }) => <Credits value={credits} signed />,
          },
        ]}
      />
      <More list={{ hasMore: true, isLoading: false, more: async () => {} }} />
    </Card>
  );
}

function States() {
  const error = new ApiFailure('The service is busy. Try again in a few seconds.', {
    status: 503,
    code: 'service_busy',
    requestId: 'req_0198b7c2',
  });
  return (
    <>
      <Card title="Facts">
        <Facts
          facts={[
            { name: 'Model', value: 'video-2.0-fast' },
            { name: 'Request', value: 'req_0198b7c2', mono: true },
          ]}
        />
      </Card>
      <ErrorState error={error} retry={() => toast('It failed again', 'bad')} />
      <Empty title="No videos yet" action={<Button look="primary">Make the first one</Button>}>
        Videos of the playground and of the API appear here.
      </Empty>
      <Skeleton lines={3} />
    </>
  );
}
