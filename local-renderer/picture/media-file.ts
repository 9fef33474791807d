import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import {
  AV_FRAME_DATA_DISPLAYMATRIX,
  AV_NOPTS_VALUE,
  AV_PKT_DATA_DISPLAYMATRIX,
  AVSEEK_CUR,
  AVSEEK_END,
  AVSEEK_SIZE,
  Decoder,
  Demuxer,
  type Frame,
} from 'node-av';

/** A decoded picture; the caller frees the frame. */
export interface Picture {
  frame: Frame;
  /** When it is shown, in the file's own time. */
  atSeconds: number;
  /** Rotation to apply: nine 16.16 numbers as in the file, or null for no rotation. */
  displayMatrix: Buffer | null;
}

const FORMATS = {
  jpeg_pipe: 'jpeg_pipe',
  png_pipe: 'png_pipe',
  webp_pipe: 'webp_pipe',
  mov: 'mov,mp4,m4a,3gp,3g2,mj2',
  matroska: 'matroska,webm',
} as const;

/**
 * Decodes the pictures of an image or video file in order, one at a time. The format comes from the
 * file's first bytes, and the file can't make the decoder open another file or address.
 * @throws when the file can't be decoded
 */
export async function* pictures(path: string): AsyncGenerator<Picture> {
  const file = openFile(path);
  try {
    const format = formatOf(file.head());
    try {
      yield* decodedPictures(file, format);
    } catch (error) {
      if (format !== 'png_pipe' || !file.hidePngExif()) throw error;
      yield* decodedPictures(file, format); // FFmpeg refuses a PNG for flawed EXIF data
    }
  } finally {
    file.close();
  }
}

async function* decodedPictures(
  file: ReturnType<typeof openFile>,
  format: keyof typeof FORMATS,
): AsyncGenerator<Picture> {
  await using input = await Demuxer.open(
    { read: file.read, seek: file.seek },
    { format, options: { protocol_whitelist: 'none', format_whitelist: FORMATS[format] } },
  );
  const video = input.video();
  if (!video) throw new Error('the file has no picture');
  const streamMatrix = video.codecpar.getCodedSideData(AV_PKT_DATA_DISPLAYMATRIX);
  using decoder = await Decoder.create(video, { context: { threadCount: 1 } });
  for await (const frame of decoder.frames(input.packets(video.index))) {
    if (frame === null) return;
    const displayMatrix = frame.getSideData(AV_FRAME_DATA_DISPLAYMATRIX) ?? streamMatrix;
    yield { frame, atSeconds: shownAt(frame), displayMatrix };
  }
}

function shownAt(frame: Frame): number {
  const guess = frame.bestEffortTimestamp;
  const ticks = guess === AV_NOPTS_VALUE ? frame.pts : guess;
  if (ticks === AV_NOPTS_VALUE) return 0;
  return (Number(ticks) * frame.timeBase.num) / frame.timeBase.den;
}

function formatOf(head: Buffer): keyof typeof FORMATS {
  const text = head.toString('latin1');
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg_pipe';
  if (text.startsWith('\x89PNG')) return 'png_pipe';
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'webp_pipe';
  if (text.startsWith('\x1a\x45\xdf\xa3')) return 'matroska';
  if (/^....(ftyp|moov|mdat|free|wide|skip)/s.test(text)) return 'mov';
  throw new Error('the file is not a supported image or video');
}

function openFile(path: string) {
  const descriptor = openSync(path, 'r');
  const sizeBytes = fstatSync(descriptor).size;
  let position = 0;
  const hiddenTypes = new Set<number>();
  const readAt = (count: number, from: number) => {
    const bytes = Buffer.alloc(count);
    const got = bytes.subarray(0, readSync(descriptor, bytes, 0, count, from));
    for (const at of hiddenTypes) hideChunkType(got, at - from);
    return got;
  };
  return {
    head: () => readAt(16, 0),
    /** Starts again, without the EXIF data of a PNG. @returns false if it has none */
    hidePngExif() {
      position = 0;
      for (let at = 8; at + 12 <= sizeBytes; ) {
        const chunk = readAt(8, at);
        if (chunk.toString('latin1', 4) === 'eXIf') hiddenTypes.add(at + 4);
        at += 12 + chunk.readUInt32BE(0);
      }
      return hiddenTypes.size > 0;
    },
    read: (count: number) => {
      const bytes = readAt(count, position);
      position += bytes.length;
      return bytes.length > 0 ? bytes : null;
    },
    seek: (offset: bigint, whence: number) => {
      if (whence & AVSEEK_SIZE) return BigInt(sizeBytes);
      const origin = whence === AVSEEK_CUR ? position : whence === AVSEEK_END ? sizeBytes : 0;
      position = origin + Number(offset);
      return BigInt(position);
    },
    close: () => closeSync(descriptor),
  };
}

/** Overwrites what the buffer has of a chunk type at an offset, which may lie outside of it. */
function hideChunkType(bytes: Buffer, offset: number): void {
  for (const [index, letter] of [...Buffer.from('skIp')].entries()) {
    if (offset + index >= 0 && offset + index < bytes.length) bytes[offset + index] = letter;
  }
}
