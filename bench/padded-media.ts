import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { makeImage, makeVideo } from '../server/test/media/media-files.ts';
import { temporaryFolder } from '../server/test/temporary-folder.ts';

const VIDEO_SECONDS = 2;
/** The signature and the header chunk of a PNG; other chunks may follow (third edition, 5.6). */
const PNG_HEAD_BYTES = 33;

interface PaddedMedia {
  image: Buffer;
  video: Buffer;
  videoSeconds: number;
}

/** A valid picture and a valid video, each padded to a size with data that decoders skip. */
export async function makePaddedMedia(bytes: {
  image: number;
  video: number;
}): Promise<PaddedMedia> {
  await using folder = await temporaryFolder();
  const imagePath = path.join(folder.path, 'image.png');
  const videoPath = path.join(folder.path, 'video.mp4');
  await makeImage(imagePath, 'png', 640, 360);
  await makeVideo(videoPath, { width: 854, height: 480, seconds: VIDEO_SECONDS });
  return {
    image: padPng(await readFile(imagePath), bytes.image),
    video: padMp4(await readFile(videoPath), bytes.video),
    videoSeconds: VIDEO_SECONDS,
  };
}

/** Inserts one private ancillary chunk after the header. */
function padPng(png: Buffer, sizeBytes: number): Buffer {
  const typed = Buffer.alloc(sizeBytes - png.length - 8);
  typed.write('paDd', 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(typed.length - 4);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(typed));
  const [head, rest] = [png.subarray(0, PNG_HEAD_BYTES), png.subarray(PNG_HEAD_BYTES)];
  return Buffer.concat([head, length, typed, checksum, rest]);
}

/** Appends one `free` box. */
function padMp4(mp4: Buffer, sizeBytes: number): Buffer {
  const box = Buffer.alloc(sizeBytes - mp4.length);
  box.writeUInt32BE(box.length);
  box.write('free', 4, 'latin1');
  return Buffer.concat([mp4, box]);
}
