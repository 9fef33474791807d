import { useState } from 'preact/hooks';
import type { VideoItem } from '../../../server/src/site/tasks/gallery.ts';
import type { ShownTask } from '../../../server/src/site/tasks/shown-task.ts';
import { api } from '../api.ts';
import { useDraft } from '../draft.ts';
import { useList, useLoad } from '../load.ts';
import type { Item } from '../site-api.ts';
import { Badge } from './badge.tsx';
import { Button, Link } from './button.tsx';
import { Card } from './card.tsx';
import { Code, CopyButton } from './code.tsx';
import { Dialog } from './dialog.tsx';
import { Select, Switch } from './form/controls.tsx';
import { Field, Problem } from './form/field.tsx';
import { DraftDialog, FormDialog } from './form/form-dialog.tsx';
import { SendButton, submitting, useSending } from './form/sending.tsx';
import { DateTime, formatNumber } from './format.tsx';
import { Load, Skeleton } from './states.tsx';
import { type Column, column, ListTable, numbers, prose } from './table.tsx';
import { toast, toastOutcome } from './toast.tsx';

type Share = Item<'GET /console/api/shares'>;

export function ShareDialog({ task }: { task: ShownTask }) {
  const list = useLoad('/console/api/shares', { query: { task: task.id } });
  return (
    <Dialog title="Share this video">
      <Load from={list} skeleton={<Skeleton lines={4} />}>
        {({ items }) => {
          const share = items.find((item) => item.is_open);
          if (!share) return <ShareForm task={task} onMade={list.reload} />;
          return <Shared share={share} task={task} onEnd={list.reload} />;
        }}
      </Load>
    </Dialog>
  );
}

const NEVER = 'never';
const ENDS = [
  { value: NEVER, label: 'When I end it' },
  { value: '1', label: 'After a day' },
  { value: '7', label: 'After 7 days' },
  { value: '30', label: 'After 30 days' },
];

function ShareForm({ task: { id }, onMade }: { task: ShownTask; onMade: () => Promise<void> }) {
  const [showsPrompt, setShowsPrompt] = useState(false);
  const [ends, setEnds] = useState(NEVER);
  const { isBusy, failure, send } = useSending(async () => {
    const days = ends === NEVER ? null : Number(ends);
    const body = { shows_prompt: showsPrompt, days };
    await api('PUT /console/api/tasks/:id/share', { params: { id }, body });
    await onMade();
  });
  return (
    <form class="grid gap-5" onSubmit={submitting(send)}>
      <p class="text-dim">
        Anybody with the link can watch the video, without an account. The link shows nothing else
        of yours, and ends with the video at the latest.
      </p>
      <Switch label="Show the prompt" checked={showsPrompt} onChange={setShowsPrompt} />
      <Select label="It ends" choices={ENDS} value={ends} onChange={setEnds} />
      {failure && <Problem>{failure.message}</Problem>}
      <div class="flex justify-end">
        <Button type="submit" look="primary" busy={isBusy}>
          Make the link
        </Button>
      </div>
    </form>
  );
}

interface SharedProps {
  share: Share;
  task: ShownTask;
  onEnd: () => Promise<void>;
}

function Shared({ share, task: { width, height }, onEnd }: SharedProps) {
  const { url, embed_url: embed, shows_prompt: showsPrompt, views } = share;
  const size = `width="${width ?? 640}" height="${height ?? 360}"`;
  const end = async () => {
    await endShare(share);
    toast(ENDED);
    await onEnd();
  };
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Code text={url} label="Link" />
      <div class="grid grid-cols-[minmax(0,1fr)] gap-1.5">
        <p class="text-dim">On another website:</p>
        <Code text={`<iframe src="${embed}" ${size} allowfullscreen></iframe>`} label="HTML" />
      </div>
      <p class="text-dim">
        {showsPrompt ? 'With' : 'Without'} its prompt. <End share={share} /> <Views count={views} />
        .
      </p>
      <div class="flex flex-wrap-reverse items-center justify-end gap-2.5">
        <SendButton onSend={end}>End the share</SendButton>
        <CopyButton text={url} look="primary" words="Copy the link" label="Copy the link" />
      </div>
    </div>
  );
}

function End({ share: { ends_at: at } }: { share: Share }) {
  if (at === null) return <>It ends when you end it.</>;
  return (
    <>
      It ends on <DateTime at={at} />.
    </>
  );
}

function Views({ count }: { count: number }) {
  return (
    <>
      <span class="figures">{formatNumber(count)}</span> {count === 1 ? 'view' : 'views'}
    </>
  );
}

const ENDED = 'The link no longer works.';

async function endShare({ id }: Share): Promise<void> {
  await api('DELETE /console/api/shares/:id', { params: { id } });
}

/** All shares of the account. */
export function Shares() {
  const list = useList('/console/api/shares');
  const end = (share: Share) => toastOutcome(endShare(share), ENDED).then(list.reload);
  return (
    <Card title="Shared videos" note="Anybody with the link can watch them.">
      <ListTable
        list={list}
        lines={2}
        empty={<p class="text-dim">None yet. Share a video on its page.</p>}
        caption="Shared videos"
        columns={columnsWith(end)}
      />
    </Card>
  );
}

function columnsWith(end: (share: Share) => Promise<void>): Column<Share>[] {
  return [
    prose('Video', ({ task_id: id, prompt }) => (
      <span class="line-clamp-2">
        <Link href={`/videos/${id}`}>{prompt || 'Video'}</Link>
      </span>
    )),
    column('Ends', ({ ends_at: at }) => (at === null ? 'when you end it' : <DateTime at={at} />)),
    numbers('Views', ({ views }) => formatNumber(views)),
    column('', (share) =>
      share.is_open ? (
        <div class="flex gap-1.5 md:justify-end">
          <CopyButton text={share.url} words="Copy link" label="Copy link" />
          <Button
            small
            aria-label={`End the share of ${share.prompt}`}
            onClick={() => void end(share)}
          >
            End
          </Button>
        </div>
      ) : (
        <Badge tone="neutral">Ended</Badge>
      ),
    ),
  ];
}

interface AnnotationsProps {
  items: VideoItem[];
  onSaved: () => unknown;
}

export function AnnotationsDialog({ items, onSaved }: AnnotationsProps) {
  const ids = items.map(({ id }) => id);
  const [one] = items.length === 1 ? items : [];
  const shared = (items[0]?.tags ?? []).filter((tag) => items.every((it) => it.tags.includes(tag)));
  const draft = useDraft(`annotations ${ids}`, () => ({
    name: one?.name ?? '',
    tags: shared.join(', '),
  }));
  const save = async () => {
    const name = draft.value.name.trim() || null;
    const tags = draft.value.tags.split(',').flatMap((tag) => tag.trim() || []);
    await api('PATCH /console/api/tasks', {
      body: {
        ids,
        ...(one && { name }),
        add_tags: tags.filter((tag) => !shared.includes(tag)),
        remove_tags: shared.filter((tag) => !tags.includes(tag)),
      },
    });
  };
  return (
    <DraftDialog
      title={one ? 'Name and tags' : `Tags of ${items.length} videos`}
      action="Save"
      draft={draft}
      onSend={save}
      onSent={onSaved}
    >
      {(field) => (
        <>
          {one && (
            <Field
              label="Name"
              hint="Shown instead of the prompt. A downloaded file is named after it."
              maxLength={120}
              {...field('name')}
            />
          )}
          <Field
            label={one ? 'Tags' : 'Tags that all of them have'}
            hint="Separated by commas."
            {...field('tags')}
          />
        </>
      )}
    </DraftDialog>
  );
}

interface DeletionProps {
  items: VideoItem[];
  onDeleted: () => unknown;
}

export function DeletionDialog({ items, onDeleted }: DeletionProps) {
  const what = items.length === 1 ? 'the video' : `${items.length} videos`;
  const remove = async () => {
    for (const { id } of items) {
      await api('DELETE /console/api/tasks/:id/output', { params: { id } });
    }
    toast(items.length === 1 ? 'The video is deleted.' : 'The videos are deleted.');
    await onDeleted();
  };
  return (
    <FormDialog
      isDangerous
      title={items.length === 1 ? 'Delete this video?' : `Delete ${what}?`}
      action={`Delete ${what}`}
      onSend={remove}
    >
      {() => (
        <p class="text-dim">
          {items.length === 1
            ? 'Its file is deleted for good, and its links stop working. '
            : 'Their files are deleted for good, and their links stop working. '}
          The credits stay charged.
        </p>
      )}
    </FormDialog>
  );
}
