import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';

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
