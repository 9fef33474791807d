import { useEvery, useLoad } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Page } from '../../ui/page.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, mono, Table } from '../../ui/table.tsx';

const REFRESH_SECONDS = 30;

type Row = Item<'GET /status.json'>;

const COLUMNS: Column<Row>[] = [
  column('Model', ({ title }) => <span class="font-medium">{title}</span>),
  mono('Resolution', ({ resolution }) => resolution),
  column('Now', ({ works }) => (
    <Badge tone={works ? 'good' : 'bad'}>{works ? 'works' : 'not available'}</Badge>
  )),
  column('Usual time', ({ usual_seconds: seconds }) =>
    seconds === null ? <span class="text-dim">not known yet</span> : wordsOf(seconds),
  ),
];

/** A job's usual time, in words. A video takes little longer. */
function wordsOf(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return 'less than a minute';
  return minutes === 1 ? 'about a minute' : `about ${minutes} minutes`;
}

export default function StatusPage() {
  const loaded = useLoad('/status.json');
  useEvery(REFRESH_SECONDS * 1000, loaded.reload);
  return (
    <Page
      title="Status"
      lead="Which models work now, and how long a video usually takes. Requests for a model that is not available are refused, and cost nothing."
    >
      <Load from={loaded} skeleton={<Skeleton lines={8} />}>
        {({ items }) => (
          <Table
            caption="Models"
            columns={COLUMNS}
            rows={items}
            keyOf={({ model, resolution }) => `${model} ${resolution}`}
          />
        )}
      </Load>
    </Page>
  );
}
