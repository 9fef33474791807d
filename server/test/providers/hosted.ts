import assert from 'node:assert/strict';
import type { Callback, JobSpec, Provider } from '../../src/providers/provider.ts';
import { input, jobSpec } from './job-spec.ts';

/** A POST to a callback URL, with its body as text. */
export interface TextDelivery {
  body: string;
  headers: Record<string, string>;
}

/** Reads a callback as the host of an adapter sends it. */
export function received(
  { readCallback }: Pick<Provider, 'readCallback'>,
  { body, headers }: TextDelivery,
): Promise<Callback> {
  assert.ok(readCallback);
  return readCallback({ body: Buffer.from(body), headers });
}

/** The delivery with another value of a header. */
export function withHeader(delivery: TextDelivery, name: string, value: string): TextDelivery {
  return { ...delivery, headers: { ...delivery.headers, [name]: value } };
}

/** The provider's names of the fields that take links to files. */
interface FileFields {
  firstFrame: string;
  lastFrame: string;
  referenceImages: string;
  referenceVideos: string;
}

/** Asserts that files go to the fields of these names, in order; a field without one is left out. */
export function assertFileFields(
  inputOf: (jobSpec: JobSpec) => Record<string, unknown>,
  { firstFrame, lastFrame, referenceImages, referenceVideos }: FileFields,
): void {
  const text = inputOf(jobSpec());
  const roles = ['first_frame', 'reference_image', 'reference_video', 'reference_image'] as const;
  const files = roles.map((role, index) => input(role, `obj_${index}`));
  const [first, imageA, video, imageB] = files.map(({ url }) => url);
  assert.deepEqual(inputOf(jobSpec({ inputs: files })), {
    ...text,
    [firstFrame]: first,
    [referenceImages]: [imageA, imageB],
    [referenceVideos]: [video],
  });
  const last = input('last_frame', 'obj_5');
  assert.deepEqual(inputOf(jobSpec({ inputs: [last] })), { ...text, [lastFrame]: last.url });
}
