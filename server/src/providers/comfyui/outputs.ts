import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { ByteBudget } from '../../outbound/byte-budget.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';
import { OutboundError } from '../../outbound/refusal.ts';
import { OUTPUT_BYTES } from '../kit/open-output.ts';
import { OutputGone, type OutputReference } from '../provider.ts';
import type { ComfyuiServer } from './server.ts';

/**
 * A file that a node saved. `format` is a media type; the nodes of the Video Helper Suite set it.
 */
const FileSchema = Type.Object({
  filename: Type.String({ minLength: 1 }),
  subfolder: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  format: Type.Optional(Type.String()),
});
type SavedFile = Static<typeof FileSchema>;

const VIDEO_NAME = /\.(mp4|m4v|mov|webm|mkv)$/i;

/**
 * Picks the result from the files that the nodes of a job saved: a video with the job id in its
 * name (if the template puts it there), otherwise a video in the output folder, otherwise a
 * preview. Of several equal videos, the first is the result.
 * @param outputs node id to a map of kinds (`images`, `gifs`, `video`, ...) to lists of files
 */
export function videoAmong(outputs: unknown, jobId: string): OutputReference | undefined {
  const videos = [...filesIn(outputs)].filter(isVideo);
  const [best] = videos.toSorted((one, other) => rank(other, jobId) - rank(one, jobId));
  if (best === undefined) return undefined;
  const { filename, subfolder = '', type = 'output' } = best;
  return { filename, subfolder, type };
}

function rank(file: SavedFile, jobId: string): number {
  const isNamed = `${file.subfolder ?? ''}/${file.filename}`.includes(jobId);
  return (isNamed ? 2 : 0) + (file.type === 'output' ? 1 : 0);
}

function* filesIn(outputs: unknown): Generator<SavedFile> {
  for (const node of valuesOf(outputs)) {
    for (const list of valuesOf(node)) {
      if (Array.isArray(list)) yield* list.filter((item) => Value.Check(FileSchema, item));
    }
  }
}

function valuesOf(map: unknown): unknown[] {
  return typeof map === 'object' && map !== null ? Object.values(map) : [];
}

function isVideo(file: SavedFile): boolean {
  return VIDEO_NAME.test(file.filename) || file.format?.startsWith('video/') === true;
}

/** The path of a file on the server (`GET /view`, ComfyUI `server.py`). */
export function viewPath(file: OutputReference): string {
  const { filename = '', subfolder = '', type = 'output' } = file;
  return `/view?${new URLSearchParams({ filename, subfolder, type })}`;
}

/** 404 and 410: the file was deleted. 400: its name leads out of the folders. */
const GONE = new Set<unknown>([400, 404, 410]);

/** @throws OutputGone when the server no longer has the file */
export async function openSavedVideo(
  output: OutputReference,
  deps: {
    server: ComfyuiServer;
    guardedFetch: GuardedFetch;
    maxOutputBytes?: number | undefined;
  },
): Promise<AsyncIterable<Uint8Array>> {
  if (output.filename === undefined) throw new OutputGone('no file was named');
  const { server, maxOutputBytes = OUTPUT_BYTES } = deps;
  try {
    return await deps.guardedFetch.download(server.baseUrl + viewPath(output), {
      budget: new ByteBudget(maxOutputBytes),
      plainHttpWhereAllowed: true,
      comparesDigest: true,
      headers: server.headers,
    });
  } catch (error) {
    const isGone = error instanceof OutboundError && GONE.has(error.details.http_status);
    throw isGone ? new OutputGone('the server does not have the file', { cause: error }) : error;
  }
}
