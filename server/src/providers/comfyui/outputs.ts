import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type OutputDeps, openOutputAt } from '../kit/open-output.ts';
import type { OutputReference } from '../provider.ts';
import type { ComfyuiServer } from './server.ts';

/** `format` is a media type; the nodes of the Video Helper Suite set it. */
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
 * preview. Of several of the same rank, the first is the result.
 * @param outputs node id to a map of kinds (`images`, `gifs`, `video`, ...) to lists of files
 */
export function videoAmong(outputs: unknown, jobId: string): OutputReference | undefined {
  const videos = [...filesIn(outputs)].filter(isVideo);
  const [best] = videos.toSorted((a, b) => rank(b, jobId) - rank(a, jobId));
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
const GONE = [400, 404, 410];

export function openSavedVideo(
  output: OutputReference,
  { baseUrl, headers }: ComfyuiServer,
  deps: OutputDeps,
): Promise<AsyncIterable<Uint8Array>> {
  const url = output.filename === undefined ? undefined : baseUrl + viewPath(output);
  return openOutputAt(url, deps, { headers, gone: GONE });
}
