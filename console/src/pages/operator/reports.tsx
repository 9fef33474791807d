import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useList, useLoad } from '../../load.ts';
import type { Item, Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { Select } from '../../ui/form/controls.tsx';
import { DateTime, labelOf, RelativeTime } from '../../ui/format.tsx';
import { Player } from '../../ui/player.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column, prose, TableCard } from '../../ui/table.tsx';
import { AccountLink, AskButton, Id, ListPage, Recorded, RecordPage } from './frame.tsx';
import { ACTIONS } from './lists.tsx';

type ReportRow = Item<'GET /console/api/operator/verbs/reports/list'>;
type Report = Result<'GET /console/api/operator/reports/:id'>;

const STATES = {
  open: 'Waiting for a decision',
  kept: 'Kept',
  taken_down: 'Taken down',
  account_closed: 'Account disabled',
};

/** Reports, oldest first; `?state=` shows decided ones. */
export function ReportsPage() {
  const { query, route } = useLocation();
  const { state = 'open' } = query;
  return (
    <ListPage
      title="Reports"
      lead="Videos that somebody says must not be shown. Decide on intimate images and minors within 48 hours."
      actions={
        <Select
          label="State"
          choices={STATES}
          value={state}
          onChange={(value) => route(`/operator/reports?${new URLSearchParams({ state: value })}`)}
        />
      }
      list={useList('/console/api/operator/verbs/reports/list', { query: { state } })}
      empty={<Empty title={state === 'open' ? 'Nothing waits for a decision' : 'No such report'} />}
      columns={COLUMNS}
    />
  );
}

const COLUMNS: Column<ReportRow>[] = [
  column('Report', ({ id }) => <Id href={`/operator/reports/${id}`} id={id} />),
  column('Reason', ({ reason }) => labelOf(reason)),
  column('Received', (report) => <RelativeTime at={report.created_at} />),
  prose('Account', ({ account_id: id, email }) =>
    id === null ? 'no video of ours' : <AccountLink row={{ account_id: id, email }} />,
  ),
];

export function ReportPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/reports/:id', { params: { id } });
  return (
    <RecordPage what="Report" id={id} loaded={loaded} buttons={buttonsOf}>
      {(report) => (
        <>
          <div class="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-2">
            <Card title="Report">
              <Facts facts={factsOf(report)} />
            </Card>
            <Video key={report.object_id} report={report} />
          </div>
          <TableCard title="Decision" rows={report.decisions} {...ACTIONS} />
        </>
      )}
    </RecordPage>
  );
}

function buttonsOf({ id, state, task_id: task }: Report) {
  if (state !== 'open') return null;
  const given = { id };
  return (
    <>
      {task ? (
        <AskButton change={{ verb: 'reports keep', given }}>Keep the video</AskButton>
      ) : (
        <AskButton change={{ verb: 'reports keep', given, title: 'Close the report' }}>
          Close the report
        </AskButton>
      )}
      {task && (
        <>
          <AskButton look="primary" change={{ verb: 'reports take-down', given }}>
            Take the video down
          </AskButton>
          <AskButton change={{ verb: 'reports close-account', given }}>
            Disable the account
          </AskButton>
        </>
      )}
    </>
  );
}

function factsOf(report: Report) {
  const { account_id, email, task_id: task, evidence } = report;
  const isOpen = report.state === 'open';
  return [
    {
      name: 'State',
      value: <Badge tone={isOpen ? 'busy' : 'neutral'}>{STATES[report.state]}</Badge>,
    },
    { name: 'Reason', value: labelOf(report.reason) },
    { name: 'Received', value: <DateTime at={report.created_at} /> },
    { name: 'Decided', value: report.decided_at && <DateTime at={report.decided_at} /> },
    { name: 'Video, as reported', value: report.video ?? <Recorded value={null} />, mono: true },
    { name: 'Task', value: task && <Id href={`/operator/tasks/${task}`} id={task} /> },
    { name: 'Account', value: account_id && <AccountLink row={{ account_id, email }} /> },
    { name: 'Other reports of it', value: report.other_reports || null },
    { name: 'Reporter', value: report.contact },
    {
      name: 'What the reporter wrote',
      value: evidence && <span class="whitespace-pre-wrap">{evidence}</span>,
    },
  ];
}

/** The video, blurred and silent until the operator asks for it. */
function Video({ report }: { report: Report }) {
  const { id, task_id: task, video_url: url, evidence_until: until } = report;
  const [isShown, setShown] = useState(false);
  if (until !== null) {
    return (
      <Empty title="The file is preserved, and not served">
        It is deleted on <DateTime at={until} />.
      </Empty>
    );
  }
  if (url === null) {
    return (
      <Empty title={task ? 'The file is deleted' : 'No video of this service is named'}>
        {!task && 'Nothing can be taken down: close the report.'}
      </Empty>
    );
  }
  return (
    <Card
      title="Video"
      actions={
        <Button onClick={() => setShown(!isShown)}>{isShown ? 'Blur it' : 'Show it'}</Button>
      }
    >
      <div inert={!isShown} class={`overflow-hidden ${isShown ? '' : 'pointer-events-none'}`}>
        <div class={isShown ? '' : 'blur-2xl'}>
          <Player key={String(isShown)} id={id} src={url} label="The reported video" />
        </div>
      </div>
    </Card>
  );
}
