/** The program of the child process: measures one file, its file descriptor 3. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { serveParent } from '../kernel/child.ts';
import { type ByteSource, fileDescriptorSource } from './byte-source.ts';
import { decodeImage } from './decode-image.ts';
import { decodeVideo } from './decode-video.ts';
import { type MeasureRequest, type MediaFacts, RefusedMedia, refused } from './measurement.ts';
import { SNIFF_BYTES, sniff } from './sniff.ts';

const FILE_DESCRIPTOR = 3;

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (input) => {
  const request = readRequest(input);
  const file = fileDescriptorSource(FILE_DESCRIPTOR);
  try {
    return { kind: 'measured', facts: await decode(file, request) };
  } catch (error) {
    if (error instanceof RefusedMedia) return refused(error.reason, error.explanation);
    throw error;
  }
});

async function decode(file: ByteSource, { expected, bounds }: MeasureRequest): Promise<MediaFacts> {
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== expected) {
    throw new RefusedMedia(expected === 'image' ? 'not_an_image' : 'not_a_video');
  }
  return sniffed.kind === 'image'
    ? decodeImage(file, sniffed.mediaType, bounds.imagePixels)
    : decodeVideo(file, sniffed.container, bounds);
}

/** Throws for an input that is not a request. The parent is our own code, so this is a bug. */
function readRequest(input: unknown): MeasureRequest {
  const { expected, bounds } = Object(input);
  if (expected !== 'image' && expected !== 'video')
    throw new TypeError(`unknown kind of media: ${expected}`);
  const [imagePixels, videoPixels, videoFrames] = [
    Number(bounds?.imagePixels),
    Number(bounds?.videoPixels),
    Number(bounds?.videoFrames),
  ];
  if (!(imagePixels > 0 && videoPixels > 0 && videoFrames > 0))
    throw new TypeError('the bounds must be above zero');
  return { expected, bounds: { imagePixels, videoPixels, videoFrames } };
}
