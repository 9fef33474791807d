import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { cwd } from 'node:process';
import type { VideoRequest } from '@framewright/client';
import type { Call } from '../command.ts';
import { Failure } from '../failure.ts';
import { settingsOf } from '../request-options.ts';
import type { Media } from '../state/journal.ts';

/** What a command line asks for: the request without its media, and the media. */
export interface Plan {
  request: VideoRequest;
  media: Media[];
}

const isUrl = (from: string) => /^https?:\/\//.test(from);

/**
 * Reads what is asked for, and looks at each file that it names.
 * @throws Failure `usage`, `file`
 */
export function planOf(call: Call): Plan {
  const references = call.texts('reference');
  const frames = [call.text('image'), call.text('end-image')];
  const hasFrames = frames.some((frame) => frame !== undefined);
  if (hasFrames && references.length > 0) {
    throw new Failure('usage', '--image and --end-image do not go together with --reference.');
  }
  const mode = hasFrames ? 'image-to-video' : 'media-to-video';
  return {
    request: {
      prompt: call.words[0] ?? '',
      ...((hasFrames || references.length > 0) && { mode }),
      ...settingsOf(call),
    },
    media: [...framesOf(frames), ...references.map(referenceOf)],
  };
}

function framesOf([image, endImage]: (string | undefined)[]): Media[] {
  const fields = [
    ['image_url', image],
    ['end_image_url', endImage],
  ] as const;
  return fields.flatMap(([field, from]) => (from === undefined ? [] : [mediaOf(field, from)]));
}

function referenceOf(from: string): Media {
  const [, address = from, seconds] = /^(https?:.*)#(\d+)$/.exec(from) ?? [];
  if (seconds !== undefined)
    return { field: 'reference_video_urls', from, url: address, seconds: Number(seconds) };
  const field = isVideo(from) ? 'reference_video_urls' : 'reference_image_urls';
  if (field === 'reference_image_urls' || !isUrl(from)) return mediaOf(field, from);
  throw new Failure('usage', `How long is ${from}? Add its seconds, such as ${from}#5`);
}

function mediaOf(field: Media['field'], from: string): Media {
  if (isUrl(from)) return { field, from, url: from, seconds: null };
  const file = path.resolve(from);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const next = 'Nothing was sent. Correct the name, then run the command again.';
    throw new Failure('file', `There is no file ${from}.`, { charged: 'no', next });
  }
  accessSync(file, constants.R_OK);
  return { field, from: file, url: null, seconds: null };
}

const VIDEO_NAME = /\.(mp4|m4v|mov|webm|mkv)$/i;

/** By the first bytes of a file (MP4 and QuickTime, Matroska and WebM), the name of a URL. */
function isVideo(from: string): boolean {
  if (isUrl(from)) return VIDEO_NAME.test(new URL(from).pathname);
  if (!existsSync(from)) return VIDEO_NAME.test(from);
  const start = Buffer.alloc(8);
  const descriptor = openSync(from, 'r');
  readSync(descriptor, start);
  closeSync(descriptor);
  return start.subarray(4).equals(Buffer.from('ftyp')) || start.readUInt32BE() === 0x1a45dfa3;
}

/** The body of a create, when all files are uploaded. */
export function bodyOf({ request, media }: Plan): VideoRequest {
  const body = { ...request };
  for (const { field, url, seconds } of media) {
    const address = url ?? '';
    if (field === 'image_url' || field === 'end_image_url') body[field] = address;
    else body[field] = [...(body[field] ?? []), address];
    if (field !== 'reference_video_urls') continue;
    body.reference_video_durations = [...(body.reference_video_durations ?? []), seconds ?? 0];
  }
  return body;
}

/**
 * The file to write, absolute; null: it gets the name of the task.
 * @throws Failure `file`, `usage`: it can't be written, or there is one already
 */
export function outputOf(given: string | undefined, isForced: boolean): string | null {
  if (given === undefined) {
    accessSync(cwd(), constants.W_OK);
    return null;
  }
  const output = path.resolve(given);
  if (existsSync(output) && !isForced) {
    const next = 'Choose another name, or replace it with --force.';
    throw new Failure('usage', `There is a file ${given} already.`, { charged: 'no', next });
  }
  const folder = statSync(path.dirname(output), { throwIfNoEntry: false });
  if (!folder?.isDirectory()) {
    const next = 'Make the folder, then run the command again.';
    throw new Failure('file', `There is no folder ${path.dirname(output)}.`, {
      charged: 'no',
      next,
    });
  }
  accessSync(path.dirname(output), constants.W_OK);
  return output;
}
