import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { invalidRequest } from '../../kernel/errors.ts';
import { attachment, fileEnding, fileNameOf } from '../../kernel/file-names.ts';
import { MAX_ZIP_BYTES, zip, zipLength } from '../../kernel/zip.ts';
import { fileMissing, storageUnavailable } from '../../requests/errors.ts';
import { reportIfVanished } from '../../storage/vanished.ts';
import { type OwnVideo, readVideos } from '../../tasks/account-tasks.ts';
import { siteRoute } from '../route.ts';
import { type FileDeps, openStored, sendStored } from '../send-file.ts';
import { MAX_TOGETHER, noVideo } from './gallery.ts';

/** Limited because each sends a video, which the storage may bill. */
const DOWNLOADS = { max: 60, seconds: 60 };
const ARCHIVES = { max: 10, seconds: 60 };

const getVideoFile = siteRoute('GET /console/api/tasks/:id/file', {
  rate: DOWNLOADS,
  handle: async (deps: FileDeps, { params, reply, session: { accountId } }) => {
    const video = await readVideo(deps, accountId, params.id);
    await sendStored(
      deps,
      reply,
      { ...video, id: video.object_id, fileName: nameOf(video) },
      noVideo,
    );
  },
});

async function readVideo({ db }: FileDeps, accountId: string, taskId: string): Promise<OwnVideo> {
  const [video] = await readVideos(db, accountId, [taskId]);
  if (!video) throw noVideo();
  return video;
}

function nameOf({ name, prompt, created_at: at, seed, media_type: type }: OwnVideo): string {
  return `${fileNameOf(name ?? prompt, { at, number: seed })}.${fileEnding(type)}`;
}

/** Sends videos of the account as one ZIP archive, in the order of the ids. */
const getVideos = siteRoute('GET /console/api/videos.zip', {
  rate: ARCHIVES,
  query: Type.Object({ ids: Type.String({ maxLength: 120 * MAX_TOGETHER }) }),
  handle: async (deps: FileDeps, { query, reply, session: { accountId } }) => {
    const ids = [...new Set(query.ids.split(','))];
    if (ids.length > MAX_TOGETHER) throw tooMany(`${MAX_TOGETHER} videos`);
    const found = await readVideos(deps.db, accountId, ids);
    const videos = ids.flatMap((id) => found.find((one) => one.task_id === id) ?? []);
    if (videos.length === 0) throw noVideo();
    const names = distinct(videos.map(nameOf));
    const files = videos.map((video, i) => ({
      name: names[i] ?? '',
      at: video.created_at,
      sizeBytes: video.size_bytes,
      // Looked up again: the videos before it may take minutes to send, and a video that was
      // removed meanwhile may still be stored as evidence.
      open: async () => {
        const { object_id: id } = await readVideo(deps, accountId, video.task_id);
        return openStored(deps, id, noVideo);
      },
    }));
    const length = zipLength(files);
    if (length > MAX_ZIP_BYTES) throw tooMany('4 GB');
    await requireFiles(deps, videos);
    const day = new Date().toISOString().slice(0, 10);
    reply.headers({
      'content-type': 'application/zip',
      'content-length': length,
      'content-disposition': attachment(`videos-${day}.zip`),
    });
    return Readable.from(zip(files), { objectMode: false });
  },
});

/** Refuses an archive with a missing file before it begins: later, it could only break off. */
async function requireFiles({ storage, ...deps }: FileDeps, videos: OwnVideo[]): Promise<void> {
  const sizes = await Promise.all(videos.map((video) => storage.sizeOf(video.object_id))).catch(
    (cause: unknown) => {
      throw storageUnavailable('read', cause);
    },
  );
  const missing = videos.find((video, i) => sizes[i] !== video.size_bytes);
  if (!missing) return;
  await reportIfVanished(deps, missing.object_id);
  throw fileMissing(missing.object_id);
}

function tooMany(most: string) {
  const details = { field: 'ids', reason: 'too_many' };
  return invalidRequest(`One archive has at most ${most}: choose fewer.`, details);
}

/** Equal names get a number: `a.mp4`, `a (2).mp4`. */
function distinct(names: string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : name.replace(/(\.\w+)$/, ` (${count})$1`);
  });
}

export const DOWNLOAD_ROUTES = [getVideoFile, getVideos];
