import { openAsBlob } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { RefusedInput } from './results.ts';

/** The magic bytes, as latin1, of the file types that the service accepts. */
const MEDIA: [start: RegExp, type: string][] = [
  [/^.PNG\r\n.\n/s, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^RIFF....WEBP/s, 'image/webp'],
  [/^.E\xdf\xa3/s, 'video/x-matroska'],
  // mp4 and QuickTime: a box length, whose first byte is not text, then a box type. HEIF and AVIF
  // start the same way.
  [/^[^\s -\xff]...(moov|mdat|free|skip|wide|ftyp(?!hei|hev|mif1|msf1|avi|crx))/s, 'video/mp4'],
];
const START_BYTES = 16;

const NOT_ALLOWED =
  'No file may be uploaded, because the user allows no folder. Ask the user to start ' +
  'framewright-mcp with --files FOLDER; the pictures and videos below FOLDER may then be uploaded.';

/** Opens an image or video. @throws RefusedInput unless its real path is below the folder */
export async function openAllowed(folder: string | undefined, file: string): Promise<Blob> {
  if (folder === undefined) throw new RefusedInput(NOT_ALLOWED);
  const target = await realpath(path.resolve(folder, file)).catch(() => '');
  if (!isBelow(folder, target) || !(await stat(target)).isFile()) {
    throw new RefusedInput(
      `"${file}" is not a file below ${folder}, the folder that the user allows with --files.`,
    );
  }
  const blob = await openAsBlob(target);
  const start = Buffer.from(await blob.slice(0, START_BYTES).arrayBuffer()).toString('latin1');
  const [, type] = MEDIA.find(([pattern]) => pattern.test(start)) ?? [];
  if (type !== undefined) return blob.slice(0, blob.size, type);
  throw new RefusedInput(`"${file}" is not a PNG, JPEG, WebP, MP4, MOV, WebM or MKV file.`);
}

function isBelow(folder: string, target: string): boolean {
  const relative = path.relative(folder, target);
  const isOutside = relative.split(path.sep)[0] === '..' || path.isAbsolute(relative);
  return target !== '' && relative !== '' && !isOutside;
}
