/** The program of the child process: measures the one file it was handed as descriptor 3. */
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { Value } from 'typebox/value';
import { serveParent } from '../kernel/child.ts';
import { type ByteSource, fileDescriptorSource } from './byte-source.ts';
import { decodeImage } from './decode-image.ts';
import { decodeVideo } from './decode-video.ts';
import {
  type MediaFacts,
  type Question,
  QuestionSchema,
  RefusedMedia,
  refused,
} from './measurement.ts';
import { SNIFF_BYTES, sniff } from './sniff.ts';

const FILE_DESCRIPTOR = 3;

Log.setLevel(AV_LOG_QUIET);
await serveParent(async (asked) => {
  const question = Value.Parse(QuestionSchema, asked);
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
