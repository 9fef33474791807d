import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { Button } from '../../ui/button.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { toast } from '../../ui/toast.tsx';
import type { MediaField } from './form-model.ts';

/** What the form takes over from an earlier video. */
export interface Uses {
  onRequest: (task: ShownTask) => void;
  onSeed: (seed: number) => void;
  onFile: (file: File, field: MediaField) => void;
}

export const UNREADABLE = 'This page can’t read the file. Download the video and upload it here.';

export function UseThis({ task, onRequest, onSeed, onFile }: Uses & { task: ShownTask }) {
  const hasFile = task.video_url !== null;
  const { isBusy, send } = useSending((read: Promise<File>, field: MediaField) =>
    read.then(
      (file) => onFile(file, field),
      () => toast(UNREADABLE, 'bad'),
    ),
  );
  return (
    <div role="group" aria-label="Use this video" class="flex flex-wrap gap-2">
      <Button small onClick={() => onRequest(task)}>
        Use its request
      </Button>
      <Button small onClick={() => onSeed(task.seed)}>
        Use its seed
      </Button>
      {hasFile && (
        <>
          <Button small busy={isBusy} onClick={() => void send(lastFrameOf(task), 'image_url')}>
            Continue from its last frame
          </Button>
          <Button
            small
            busy={isBusy}
            onClick={() => void send(fileOf(task), 'reference_video_urls')}
          >
            Use as a reference
          </Button>
        </>
      )}
    </div>
  );
}

/** The file of a task. @throws Error if the browser may not read it */
export async function fileOf({ id, video_url: url }: ShownTask): Promise<File> {
  const response = await fetch(url ?? '');
  if (!response.ok) throw new Error(`The file could not be read: ${response.status}.`);
  return new File([await response.blob()], `${id}.mp4`, { type: 'video/mp4' });
}

/** The last frame of a task's video, as it was stored. @throws Error as {@link fileOf} */
export async function lastFrameOf({ id, video_url: url, video }: ShownTask): Promise<File> {
  const player = document.createElement('video');
  Object.assign(player, { muted: true, preload: 'auto', src: url ?? '' });
  await once(player, 'loadeddata');
  const { frames = 1, duration_seconds: seconds = player.duration } = video ?? {};
  player.currentTime = seconds * (1 - 0.5 / frames); // the middle of the last frame
  await once(player, 'seeked');
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: player.videoWidth, height: player.videoHeight });
  canvas.getContext('2d')?.drawImage(player, 0, 0);
  const { promise, resolve } = Promise.withResolvers<Blob | null>();
  canvas.toBlob(resolve, 'image/png');
  const picture = await promise;
  if (!picture) throw new Error('The last frame could not be drawn.');
  return new File([picture], `${id}-last-frame.png`, { type: 'image/png' });
}

function once(player: HTMLVideoElement, event: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  player.addEventListener(event, resolve, { once: true });
  player.addEventListener('error', () => reject(new Error('The video can’t be played.')));
  return promise;
}
