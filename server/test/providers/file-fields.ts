import assert from 'node:assert/strict';
import type { JobSpec } from '../../src/providers/provider.ts';
import { input, jobSpec } from './job-spec.ts';

/** The provider's names of the fields that take links to files. */
interface FileFields {
  firstFrame: string;
  lastFrame: string;
  referenceImages: string;
  referenceVideos: string;
}

type ModelInput = (jobSpec: JobSpec) => Record<string, unknown>;

/** Asserts that frames and references go to the fields of these names, in order. */
export function assertFileFields(inputOf: ModelInput, names: FileFields): void {
  const frames = [input('last_frame', 'b'), input('first_frame', 'a')];
  const [last, first] = frames.map(({ url }) => url);
  const withFrames = inputOf(jobSpec({ mode: 'image-to-video', inputs: frames }));
  assert.equal(withFrames[names.firstFrame], first);
  assert.equal(withFrames[names.lastFrame], last);
  const references = [
    input('reference_image', 'a'),
    input('reference_video', 'b'),
    input('reference_image', 'c'),
  ];
  const [imageA, video, imageC] = references.map(({ url }) => url);
  const withReferences = inputOf(jobSpec({ mode: 'media-to-video', inputs: references }));
  assert.deepEqual(withReferences[names.referenceImages], [imageA, imageC]);
  assert.deepEqual(withReferences[names.referenceVideos], [video]);
}

/** Asserts that a field without a file is left out. */
export function assertNoEmptyFields(inputOf: ModelInput, names: FileFields): void {
  const frame = jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', 'a')] });
  assert.ok(!(names.lastFrame in inputOf(frame)));
  const video = jobSpec({ mode: 'media-to-video', inputs: [input('reference_video', 'a')] });
  assert.ok(!(names.referenceImages in inputOf(video)));
}
