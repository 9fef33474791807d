import { type ComponentChildren, Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { SiteUpload } from '../../../../server/src/site/playground/uploads.ts';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { api } from '../../api.ts';
import { useList, useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { nameOf } from '../../task.ts';
import { Dialog, useClose } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Load } from '../../ui/states.tsx';
import { More } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Medium, mediumOf } from './form-model.ts';
import { fileOf, lastFrameOf, UNREADABLE } from './own-video.tsx';

interface PickerProps {
  label: string;
  kind: 'image' | 'video';
  onChange: (medium: Medium) => void;
  onFiles: (files: File[]) => void;
}

/** Own uploads and videos, one of which becomes a file of the form. */
export function Picker({ label, kind, onChange, onFiles }: PickerProps) {
  const close = useClose();
  const uploads = useLoad('/console/api/uploads');
  const [text, setText] = useState('');
  const query = { mode: useMode(), state: 'completed', text };
  const videos = useList('/console/api/tasks', { query });
  const { isBusy, send } = useSending(async ({ id }: VideoItem) => {
    const task = await api('GET /console/api/tasks/:id', { params: { id } });
    const file = await (kind === 'video' ? fileOf(task) : lastFrameOf(task)).catch(() => null);
    if (file) onFiles([file]);
    else toast(UNREADABLE, 'bad');
    close();
  });
  const take = (upload: SiteUpload) => {
    onChange(mediumOf(upload));
    close();
  };
  return (
    <Dialog title={label}>
      <div aria-busy={isBusy} class="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Load from={uploads}>
          {({ items }) => (
            <Choices
              title="Uploads"
              items={items.filter((upload) => upload.kind === kind)}
              none="None. An upload is deleted 7 days after its last use."
            >
              {(upload) => <UploadChoice upload={upload} onTake={() => take(upload)} />}
            </Choices>
          )}
        </Load>
        <Field
          label="Search your videos"
          type="search"
          maxLength={200}
          placeholder="Prompt, name, tag or seed"
          value={text}
          onChange={setText}
        />
        <Load from={{ ...videos, data: videos.items }}>
          {(items) => (
            <Choices
              title={kind === 'video' ? 'Videos' : 'Last frames of your videos'}
              items={items.filter(({ video_url: url }) => url !== null)}
              none={videos.hasMore ? 'None among the newest.' : 'None.'}
            >
              {(item) => <VideoChoice item={item} onTake={() => void send(item)} />}
            </Choices>
          )}
        </Load>
        <More list={videos} />
      </div>
    </Dialog>
  );
}

interface ChoicesProps<Item> {
  title: string;
  items: Item[];
  none: string;
  children: (item: Item) => ComponentChildren;
}

function Choices<Item extends { id: string }>(props: ChoicesProps<Item>) {
  const { title, items, none, children } = props;
  return (
    <div>
      <h3 class="mb-2 font-medium">{title}</h3>
      {items.length === 0 && <p class="text-sm text-dim">{none}</p>}
      <div class="grid max-h-80 grid-cols-2 gap-2 overflow-y-auto p-1 -mx-1 sm:grid-cols-3">
        {items.map((item) => (
          <Fragment key={item.id}>{children(item)}</Fragment>
        ))}
      </div>
    </div>
  );
}

function VideoChoice({ item, onTake }: { item: VideoItem; onTake: () => void }) {
  return (
    <Choice source={item.poster_url} onTake={onTake}>
      {nameOf(item)}
    </Choice>
  );
}

function UploadChoice({ upload, onTake }: { upload: SiteUpload; onTake: () => void }) {
  const { id, kind, width, height, duration_seconds: seconds } = upload;
  return (
    <Choice source={kind === 'image' ? `/console/api/uploads/${id}/file` : null} onTake={onTake}>
      <span class="figures">
        {width === null ? 'Not measured' : `${width} × ${height}`}
        {seconds !== null && `, ${seconds.toFixed(1)} s`}
      </span>
    </Choice>
  );
}

interface ChoiceProps {
  source: string | null;
  onTake: () => void;
  children: ComponentChildren;
}

function Choice({ source, onTake, children }: ChoiceProps) {
  return (
    <button
      type="button"
      onClick={onTake}
      class="grid content-start gap-1 border border-line bg-sheet p-1.5 text-left text-xs hover:border-edge"
    >
      <span class="grid aspect-video place-items-center overflow-hidden bg-well text-dim">
        {source === null ? (
          <Icon name="frames" />
        ) : (
          <img src={source} alt="" loading="lazy" class="size-full object-contain" />
        )}
      </span>
      <span class="line-clamp-2 min-w-0 break-words">{children}</span>
    </button>
  );
}
