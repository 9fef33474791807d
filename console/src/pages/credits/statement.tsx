import { useState } from 'preact/hooks';
import type { StatementLine } from '../../../../server/src/site/billing/statement.ts';
import { useList } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { addressOf } from '../../site-api.ts';
import { TestMark } from '../../ui/badge.tsx';
import { ButtonLink, Link } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Segments } from '../../ui/form/controls.tsx';
import { binding, Field } from '../../ui/form/field.tsx';
import { addDays, Credits, DateTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column, ListTable, numbers, prose } from '../../ui/table.tsx';

const GROUPS = { '': 'All', purchases: 'Purchases', videos: 'Videos', other: 'Other' };
/** Test credits can't be bought. */
const TEST_GROUPS = { '': 'All', videos: 'Videos', other: 'Other' };

const KINDS = { paid: 'Paid', promotional: 'Promotional', test: <TestMark /> };

const COLUMNS: Column<StatementLine>[] = [
  column('Time (UTC)', ({ at }) => <DateTime at={at} utc />),
  prose('Description', (line) => <What line={line} />),
  column('Kind', ({ kind }) => KINDS[kind]),
  numbers('Change', (line) => <Change line={line} />),
  numbers('Available after', ({ balance_after: after }) => <Credits value={after} />),
];

function What({ line: { what, note, task_id: task } }: { line: StatementLine }) {
  return (
    <span>
      {task ? <Link href={`/videos/${task}`}>{what}</Link> : what}
      {note && <span class="block text-sm text-dim">{note}</span>}
    </span>
  );
}

/** A capture does not change the available credits: they were reserved before. */
function Change({ line: { change, credits } }: { line: StatementLine }) {
  if (change !== 0) return <Credits value={change} signed />;
  return (
    <span class="text-dim">
      (<Credits value={credits} />)
    </span>
  );
}

const ALL = { group: '', from: '', to: '' };

export function Statement() {
  const [filter, setFilter] = useState(ALL);
  const field = binding(filter, (change) => setFilter((before) => ({ ...before, ...change })));
  const mode = useMode();
  // The API's `to` is exclusive; the page's is inclusive.
  const asked = { ...filter, mode, to: filter.to && addDays(filter.to, 1) };
  const { group: _, ...period } = asked;
  const list = useList('/console/api/statement', { query: asked });
  return (
    <Card
      title="Statement"
      note="Every change of your credits. The credits of a charge were reserved before, so its amount is in brackets."
      actions={
        <ButtonLink
          icon="download"
          href={addressOf('/console/api/statement.csv', { query: period })}
          download={mode === 'test' ? 'test-credits.csv' : 'credits.csv'}
        >
          Download CSV
        </ButtonLink>
      }
    >
      <div class="mb-6 flex flex-wrap items-end gap-x-8 gap-y-4">
        <Segments
          label="Show"
          choices={mode === 'test' ? TEST_GROUPS : GROUPS}
          {...field('group')}
        />
        <div class="flex flex-wrap gap-4">
          <Field label="From (UTC)" type="date" {...field('from')} />
          <Field label="To (UTC)" type="date" {...field('to')} />
        </div>
      </div>
      <ListTable
        list={list}
        empty={Object.values(filter).some((value) => value !== '') ? NO_MATCH : NO_ENTRIES}
        caption="Changes of credits, the newest first"
        columns={COLUMNS}
      />
    </Card>
  );
}

const NO_MATCH = <Empty title="No entry matches">Choose another period, or show all.</Empty>;
const NO_ENTRIES = (
  <Empty title="No entries yet">
    The credits of every video, and where they came from, will be listed here.
  </Empty>
);
