import type { ShownInput, ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { CodeTabs, CopyButton } from '../../ui/code.tsx';
import { Credits, DateTime, formatNumber } from '../../ui/format.tsx';
import { type Column, column, mono, numbers, TableCard } from '../../ui/table.tsx';

export function VideoDetails({ task }: { task: ShownTask }) {
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-6 lg:grid-cols-2">
      <Card title="What happened">
        <Timeline task={task} />
      </Card>
      <TableCard
        title="Credits"
        caption="Changes of credits for this video"
        columns={MOVEMENT_COLUMNS}
        rows={task.movements}
      />
      {task.inputs.length > 0 && (
        <div class="lg:col-span-2">
          <TableCard
            title="Your files"
            note="Each file is decoded in full before it is used."
            caption="The files of the request"
            columns={INPUT_COLUMNS}
            rows={task.inputs}
          />
        </div>
      )}
      <div class="min-w-0 lg:col-span-2">
        <Card title="Request">
          <Request task={task} />
        </Card>
      </div>
      {task.video && (
        <Card title="File">
          <Facts facts={fileOf(task.video)} />
        </Card>
      )}
      <div class={task.video ? 'grid' : 'lg:col-span-2'}>
        <Card title="IDs" note="Quote these when you ask about this video.">
          <Facts facts={idsOf(task)} />
        </Card>
      </div>
    </div>
  );
}

function Timeline({ task: { timeline } }: { task: ShownTask }) {
  return (
    <ol class="grid">
      {timeline.map(({ at, phase, label }) => (
        <li
          key={`${at} ${phase}`}
          class="flex flex-wrap items-baseline justify-between gap-x-6 border-l-2 border-edge py-1.5 pl-4 last:border-tungsten"
        >
          <span>{label}</span>
          <span class="text-sm text-dim">
            <DateTime at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}

const MOVEMENTS: Record<string, string> = {
  reserve: 'Reserved',
  capture: 'Charged',
  refund: 'Refunded',
};

const KINDS: Record<string, string> = { paid: 'Paid', promotional: 'Promotional', test: 'Test' };

const MOVEMENT_COLUMNS: Column<ShownTask['movements'][number]>[] = [
  column('Change', ({ reason }) => MOVEMENTS[reason] ?? reason),
  numbers('Credits', ({ credits }) => <Credits value={credits} />),
  column('Kind', ({ kind }) => KINDS[kind] ?? kind),
  column('Time', ({ at }) => <DateTime at={at} />),
];

const VERDICTS: Record<ShownInput['verdict'], { tone: Tone; word: string }> = {
  accepted: { tone: 'good', word: 'Accepted' },
  refused: { tone: 'bad', word: 'Refused' },
  waiting: { tone: 'busy', word: 'Being checked' },
  unused: { tone: 'neutral', word: 'Not used' },
};

const INPUT_COLUMNS: Column<ShownInput>[] = [
  mono('Field', ({ field, entry }) => (entry === null ? field : `${field}[${entry}]`)),
  column('Check', ({ verdict, reason }) => (
    <span class="grid gap-1">
      <Badge tone={VERDICTS[verdict].tone}>{VERDICTS[verdict].word}</Badge>
      {reason !== null && <span class="break-words">{reason}</span>}
    </span>
  )),
  column('Type', ({ media_type: type }) => type ?? '–'),
  mono('Measured', ({ width, height, duration_seconds: seconds }) => {
    if (width === null) return '–';
    return `${width} × ${height}${seconds === null ? '' : `, ${seconds.toFixed(2)} s`}`;
  }),
  numbers('Size', ({ size_bytes: bytes }) => sizeOf(bytes)),
];

function sizeOf(bytes: number | null): string {
  if (bytes === null) return '–';
  return bytes < 1e6
    ? `${formatNumber(Math.ceil(bytes / 1e3))} kB`
    : `${(bytes / 1e6).toFixed(1)} MB`;
}

function Request({ task }: { task: ShownTask }) {
  const json = JSON.stringify(task.request, null, 2);
  const body = JSON.stringify(task.request).replaceAll("'", String.raw`'\''`);
  const curl = [
    `curl -s ${location.origin}/api/v1/video/generations \\`,
    '  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" -H "Content-Type: application/json" \\',
    '  -H "Idempotency-Key: $(uuidgen)" \\',
    `  -d '${body}'`,
  ].join('\n');
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <p class="max-w-[75ch] break-words whitespace-pre-wrap">{task.prompt}</p>
      <CodeTabs label="Request" samples={{ JSON: json, curl }} />
    </div>
  );
}

function fileOf(video: NonNullable<ShownTask['video']>) {
  const { width, height, duration_seconds: seconds, frames } = video;
  return [
    { name: 'Frame size', value: `${width} × ${height}`, mono: true },
    { name: 'Length', value: `${seconds.toFixed(2)} s, ${frames} frames`, mono: true },
    { name: 'Type', value: video.media_type },
    { name: 'Codecs', value: `${video.video_codec}, ${video.audio_codec ?? 'no sound'}` },
    { name: 'File size', value: sizeOf(video.size_bytes), mono: true },
    { name: 'Content Credentials', value: video.credentials && <Credentials {...video} /> },
  ];
}

/** What the file says about itself, to every program that reads Content Credentials. */
function Credentials({ credentials }: NonNullable<ShownTask['video']>) {
  if (credentials === null) return null;
  const { made_by_ai: isAi, model, at } = credentials;
  return (
    <>
      {isAi ? `Made with AI (${model})` : 'Drawn by a program that is not AI'}, signed{' '}
      <DateTime at={at} />. <Link href="/verify">Verify a file</Link>
    </>
  );
}

function originOf({ surface, api_key_id: key }: ShownTask): string {
  if (surface === 'api') return 'API';
  if (surface === 'test') return key === null ? 'Website, in test mode' : 'Test key';
  return 'Website';
}

function idsOf(task: ShownTask) {
  const id = (name: string, text: string | null) => ({
    name,
    value: text && (
      <span class="flex items-center justify-between gap-2">
        <span class="figures min-w-0 text-sm break-all">{text}</span>
        <CopyButton text={text} label={`Copy: ${name}`} />
      </span>
    ),
  });
  return [
    id('Task ID', task.id),
    id('Request ID', task.request_id),
    id('Idempotency-Key', task.idempotency_key),
    id('API key ID', task.api_key_id),
    { name: 'Created through', value: originOf(task) },
    { name: 'Seed', value: String(task.seed), mono: true },
  ];
}
