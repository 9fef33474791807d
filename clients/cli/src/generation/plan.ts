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
import type { GenerateRequest } from '@framewright/client';
import type { Call } from '../command.ts';
import { Failure } from '../failure.ts';
import { settingsOf } from '../request-options.ts';

const isUrl = (from: string) => /^https?:\/\//.test(from);

/** The request; its local files exist, and have absolute paths. @throws Failure `usage`, `file` */
export function requestOf(call: Call): GenerateRequest {
  const [image, endImage] = [call.text('image'), call.text('end-image')];
  const given = call.texts('reference');
  const hasFrames = (image ?? endImage) !== undefined;
  if (hasFrames && given.length > 0) {
    throw new Failure('usage', '--image and --end-image do not go together with --reference.');
  }
  const references = given.map(referenceOf);
  const images = references.filter(({ isVideo }) => !isVideo);
  const videos = references.filter(({ isVideo }) => isVideo);
  return {
    prompt: call.words[0] ?? '',
    ...(hasFrames && { mode: 'image-to-video' }),
    ...(references.length > 0 && { mode: 'media-to-video' }),
    ...settingsOf(call),
    ...(image !== undefined && { image_url: mediaOf(image) }),
    ...(endImage !== undefined && { end_image_url: mediaOf(endImage) }),
    ...(images.length > 0 && { reference_image_urls: images.map(({ from }) => from) }),
    ...(videos.length > 0 && {
      reference_video_urls: videos.map(({ from }) => from),
      reference_video_durations: videos.map(({ seconds }) => seconds),
    }),
  };
}

/** `seconds` is null for files, which are measured when they are uploaded. */
function referenceOf(given: string) {
  const [, from, seconds] = /^(https?:.*)#(\d+)$/.exec(given) ?? [];
  if (from !== undefined) return { isVideo: true, from, seconds: Number(seconds) };
  if (!isVideo(given)) return { isVideo: false, from: mediaOf(given), seconds: null };
  if (!isUrl(given)) return { isVideo: true, from: mediaOf(given), seconds: null };
  throw new Failure('usage', `How long is ${given}? Add its length in seconds, such as ${given}#5`);
}

function mediaOf(given: string): string {
  if (isUrl(given)) return given;
  const file = path.resolve(given);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const next = 'Nothing was sent. Correct the name, then run the command again.';
    throw new Failure('file', `There is no file ${given}.`, { charged: 'no', next });
  }
  accessSync(file, constants.R_OK);
  return file;
}

const VIDEO_NAME = /\.(mp4|m4v|mov|webm|mkv)$/i;

/** Decides by a file's first bytes (MP4 and QuickTime, Matroska and WebM), or by a URL's name. */
function isVideo(from: string): boolean {
  if (isUrl(from)) return VIDEO_NAME.test(new URL(from).pathname);
  if (!existsSync(from)) return VIDEO_NAME.test(from);
  const start = Buffer.alloc(8);
  const descriptor = openSync(from, 'r');
  readSync(descriptor, start);
  closeSync(descriptor);
  return start.subarray(4).equals(Buffer.from('ftyp')) || start.readUInt32BE() === 0x1a45dfa3;
}

/** The absolute path to write; null: named after the task. @throws Failure `file`, `usage` */
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
  const home = path.dirname(output);
  if (!statSync(home, { throwIfNoEntry: false })?.isDirectory()) {
    const next = 'Make the folder, then run the command again.';
    throw new Failure('file', `There is no folder ${home}.`, { charged: 'no', next });
  }
  accessSync(home, constants.W_OK);
  return output;
}
