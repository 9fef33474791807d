/** The program of the child process: measures the one file it was handed as descriptor 3. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { serveParent } from '../kernel/child.ts';
import { type ByteSource, fileDescriptorSource } from './byte-source.ts';
import { decodeImage } from './decode-image.ts';
import { decodeVideo } from './decode-video.ts';
import { type MediaFacts, type Question, RefusedMedia, refused } from './measurement.ts';
import { SNIFF_BYTES, sniff } from './sniff.ts';

const FILE_DESCRIPTOR = 3;

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (asked) => {
  const question = readQuestion(asked);
  const file = fileDescriptorSource(FILE_DESCRIPTOR);
  try {
    return { kind: 'measured', facts: await decode(file, question) };
  } catch (error) {
    if (error instanceof RefusedMedia) return refused(error.reason, error.explanation);
    throw error;
  }
});

async function decode(file: ByteSource, { expected, bounds }: Question): Promise<MediaFacts> {
  const sniffed = sniff(file.read(0, SNIFF_BYTES));
  if (sniffed?.kind !== expected) {
    throw new RefusedMedia(expected === 'image' ? 'not_an_image' : 'not_a_video');
  }
  return sniffed.kind === 'image'
    ? decodeImage(file, sniffed.mediaType, bounds.imagePixels)
    : decodeVideo(file, sniffed.container, bounds);
}

/** Our own parent asks, so a wrong question is a bug: it throws. */
function readQuestion(asked: unknown): Question {
  const { expected, bounds } = Object(asked);
  if (expected !== 'image' && expected !== 'video') throw new TypeError('no such kind of media');
  const [imagePixels, videoPixels, videoFrames] = [
    Number(bounds?.imagePixels),
    Number(bounds?.videoPixels),
    Number(bounds?.videoFrames),
  ];
  if (!(imagePixels > 0 && videoPixels > 0 && videoFrames > 0)) throw new TypeError('no bounds');
  return { expected, bounds: { imagePixels, videoPixels, videoFrames } };
}
