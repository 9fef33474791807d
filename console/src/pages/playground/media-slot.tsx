import { useId, useMemo, useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { INPUT, Problem } from '../../ui/form/field.tsx';
import { confirm } from '../../ui/form/form-dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Medium, newMedium } from './form-model.ts';
import { Picker } from './picker.tsx';
import { MEGABYTE, stopUpload } from './upload.ts';

interface SlotProps {
  label: string;
  kind: 'image' | 'video';
  maxBytes: number;
  /** An empty slot has none, or one whose upload failed: it shows the error. */
  medium?: Medium | undefined;
  seconds?: { min: number; max: number } | undefined;
  /** Whether the field takes several files. */
  isMany: boolean;
  onChange: (medium: Medium) => void;
  onFiles: (files: File[]) => void;
  onRemove: (key: string) => void;
}

type FilledProps = SlotProps & { medium: Medium };

export function MediaSlot(props: SlotProps) {
  const { medium, onRemove } = props;
  if (!medium || (medium.url === '' && !medium.progress)) {
    return <EmptySlot {...props} />;
  }
  const remove = () => {
    stopUpload(medium.key);
    onRemove(medium.key);
  };
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-2 border border-edge bg-sheet p-3">
      <div class="flex items-center gap-3">
        <Preview medium={medium} />
        <div class="min-w-0 flex-1 text-sm">
          <p class="truncate" title={nameOf(medium)}>
            {nameOf(medium)}
          </p>
          <p class="figures text-dim">{factsOf(medium)}</p>
        </div>
        <IconButton icon="cross" label={`Remove: ${props.label}`} onClick={remove} />
        <DeleteFile {...props} medium={medium} />
      </div>
      <Progress medium={medium} />
      {props.seconds && !medium.progress && <Seconds {...props} medium={medium} />}
    </div>
  );
}

function DeleteFile({ label, medium: { key, upload }, onRemove }: FilledProps) {
  if (!upload) return null;
  const ask = () =>
    confirm({
      title: 'Delete this file?',
      action: 'Delete the file',
      text: 'It can’t be used in new videos any more. Videos that were made with it stay.',
      async request() {
        await api('DELETE /console/api/uploads/:id', { params: { id: upload.id } });
        onRemove(key);
        toast('The file is deleted.');
      },
    });
  return <IconButton icon="trash" label={`Delete the file: ${label}`} onClick={ask} />;
}

function Progress({ medium: { name, progress } }: { medium: Medium }) {
  if (!progress) return null;
  return (
    <progress
      class="h-1 w-full appearance-none bg-line [&::-moz-progress-bar]:bg-tungsten [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-tungsten"
      value={progress.part}
      max={1}
      aria-label={`Uploading ${name}`}
    />
  );
}

function nameOf({ url, upload, name }: Medium): string {
  return name ?? (upload ? `Uploaded ${upload.kind}` : url);
}

function factsOf({ upload, progress }: Medium): string {
  if (progress) return progress.part < 1 ? `${Math.round(progress.part * 100)} %` : 'Checking it';
  if (!upload) return 'copied when you generate';
  const { width, height, size_bytes, duration_seconds } = upload;
  const seconds = duration_seconds === null ? '' : ` · ${duration_seconds.toFixed(1)} s`;
  const size = width === null ? '' : `${width} × ${height} · `;
  return size + sizeText(size_bytes) + seconds;
}

function sizeText(bytes: number): string {
  if (bytes < MEGABYTE / 10) return `${Math.ceil(bytes / 1024)} KB`;
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}

function Preview({ medium: { upload, progress } }: { medium: Medium }) {
  if (!upload || upload.kind === 'video') {
    return (
      <span class="grid size-12 flex-none place-items-center bg-well text-dim">
        <Icon name={upload ? 'frames' : progress ? 'upload' : 'external'} />
      </span>
    );
  }
  const source = `/console/api/uploads/${upload.id}/file`;
  return <img src={source} alt="" class="size-12 flex-none bg-well object-cover" />;
}

function Seconds({ medium, seconds, onChange }: FilledProps) {
  const id = useId();
  return (
    <div class="flex items-center justify-between gap-3 text-sm">
      <label for={id} class="text-dim">
        {medium.upload ? 'Seconds, as measured' : 'Its length in whole seconds'}
      </label>
      <input
        id={id}
        type="number"
        {...seconds}
        readOnly={medium.upload !== undefined}
        value={medium.seconds}
        onInput={(event) => onChange({ ...medium, seconds: Number(event.currentTarget.value) })}
        class={`${INPUT} figures h-8 max-w-20`}
      />
    </div>
  );
}

const WORDS = {
  image: { one: 'Drop an image or choose one', many: 'Drop images or choose some' },
  video: { one: 'Drop a video or choose one', many: 'Drop videos or choose some' },
};

const ACCEPTED = {
  image: 'image/jpeg,image/png,image/webp',
  video: 'video/mp4,video/quicktime,video/webm,video/x-matroska',
};

function EmptySlot(props: SlotProps) {
  const [isOver, setOver] = useState(false);
  const { label, medium, onFiles } = props;
  return (
    <div
      role="group"
      aria-label={`Add: ${label}`}
      class={`grid grid-cols-[minmax(0,1fr)] gap-3 border border-dashed p-3 ${isOver ? 'border-tungsten bg-well' : 'border-edge'}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <FileInput {...props} />
      <AddressInput {...props} />
      <div>
        <Button small icon="frames" onClick={() => openDialog(<Picker {...props} />)}>
          Your uploads and videos
        </Button>
      </div>
      {medium?.error && <Problem>{medium.error}</Problem>}
    </div>
  );
}

function FileInput({ label, kind, isMany, onFiles }: SlotProps) {
  return (
    <label class="flex items-center gap-3 text-sm has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus">
      <span class="grid size-12 flex-none place-items-center bg-well text-dim">
        <Icon name="upload" />
      </span>
      <span>
        <span class="block font-medium">
          <span class="sr-only">{label}: </span>
          {WORDS[kind][isMany ? 'many' : 'one']}
        </span>
        <span class="text-dim">
          {kind === 'image' ? 'JPEG, PNG or WebP' : 'MP4, MOV, WebM or MKV, 2 to 15 s'}
        </span>
      </span>
      <input
        type="file"
        accept={ACCEPTED[kind]}
        multiple={isMany}
        class="sr-only"
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </label>
  );
}

function AddressInput({ label, medium, onChange }: SlotProps) {
  const id = useId();
  const [url, setUrl] = useState('');
  // An address replaces a failed upload.
  const key = useMemo(() => (medium ?? newMedium()).key, [medium]);
  const take = () => url.trim() !== '' && onChange(newMedium({ key, url: url.trim() }));
  return (
    <div>
      <label for={id} class="sr-only">
        {label}: its https address
      </label>
      <input
        id={id}
        type="url"
        value={url}
        placeholder="or paste an https address"
        onInput={(event) => setUrl(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          take();
        }}
        class={`${INPUT} h-9 text-sm`}
      />
    </div>
  );
}
