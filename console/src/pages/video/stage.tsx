import { useEffect, useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { shownState, whoDeleted } from '../../task.ts';
import { Status, TestMark } from '../../ui/badge.tsx';
import { Working } from '../../ui/button.tsx';
import { Credits, DateTime } from '../../ui/format.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Player } from '../../ui/player.tsx';

export function Stage({ task }: { task: ShownTask }) {
  const { video } = task;
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Screen task={task} />
      <div class="flex flex-wrap items-baseline gap-x-6 gap-y-2">
        <div role="status">
          <Status state={shownState(task)} />
        </div>
        {task.surface === 'test' && <TestMark />}
        <p>
          <Charge task={task} />
        </p>
        {video?.state === 'ready' && video.deletes_at !== null && (
          <p class="text-dim">
            Kept until <DateTime at={video.deletes_at} />. Download it before then.
          </p>
        )}
      </div>
    </div>
  );
}

function Screen({ task }: { task: ShownTask }) {
  const { video, video_url: url } = task;
  const isMissing = useMissingFile(task.id, url);
  if (url !== null && isMissing) {
    return (
      <Notice title="The file of this video is missing" icon="warning">
        It should be in the storage of this service, but it is not there. The operator was alerted
        and may be able to restore it, so come back later. If it stays missing, ask the operator,
        and name the video: <span class="figures break-all">{task.id}</span>.
      </Notice>
    );
  }
  if (url !== null && video) {
    return (
      <Player
        id={task.id}
        src={url}
        poster={task.poster_url}
        width={video.width}
        height={video.height}
        label={`Video: ${task.prompt.slice(0, 100)}`}
      />
    );
  }
  if (task.failure) {
    return (
      <Notice title="No video was made" icon="warning">
        <p class="break-words text-ink">{task.failure.message}</p>
        <p class="mt-3">{task.failure.advice}</p>
        <p class="mt-3 text-sm">
          Code: <span class="figures">{task.failure.code}</span>
        </p>
      </Notice>
    );
  }
  if (task.deleted) {
    const { at } = task.deleted;
    return (
      <Notice title="The video was deleted" icon="trash">
        {whoDeleted(task.deleted)}
        {at && <DateTime at={at} />}. Its credits stay charged. You can run the same request again.
      </Notice>
    );
  }
  if (task.held !== null) {
    return (
      <Notice title="Being checked" icon="clock">
        {task.held}
      </Notice>
    );
  }
  return (
    <div class="cropped grid aspect-video max-h-[60vh] w-full place-items-center bg-well">
      <p role="status" class="flex items-center gap-3 text-heading">
        <Working />
        {task.label}
      </p>
    </div>
  );
}

const GONE = 410;

function useMissingFile(id: string, url: string | null): boolean {
  const [missing, setMissing] = useState<string>();
  const isThere = url !== null;
  useEffect(() => {
    // The browser does not let this page read the status of a file on another origin.
    if (url === null || new URL(url, location.href).origin !== location.origin) return;
    const stop = new AbortController();
    fetch(url, { method: 'HEAD', signal: stop.signal }).then(
      ({ status }) => setMissing(status === GONE ? id : undefined),
      () => {},
    );
    return () => stop.abort();
  }, [id, isThere]);
  return missing === id;
}

interface NoticeProps {
  title: string;
  icon: 'trash' | 'clock' | 'warning';
  children: preact.ComponentChildren;
}

function Notice({ title, icon, children }: NoticeProps) {
  return (
    <div class="border border-line bg-sheet px-6 py-10 sm:px-12">
      <h2 class="flex items-center gap-3 text-heading">
        <Icon name={icon} size={22} />
        {title}
      </h2>
      <div class="mt-3 max-w-[66ch] text-dim">{children}</div>
    </div>
  );
}

function Charge({ task }: { task: ShownTask }) {
  const isTest = task.surface === 'test';
  const credits = (
    <>
      <Credits value={task.credits_used} /> {isTest && 'test '}credits
    </>
  );
  if (task.charge === 'charged') return <>Charged {credits}.</>;
  if (task.charge === 'refunded') return <>Nothing was charged: {credits} were refunded.</>;
  return <>{credits} are reserved. They are charged only if the video is made.</>;
}
