import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { catalogWith, NOVA } from '../../test/catalogs.ts';
import { requestOf } from '../../test/requests.ts';
import { ApiError } from '../kernel/errors.ts';
import type { VideoFacts } from '../media/measurement.ts';
import { BUILT_IN } from './catalog.ts';
import { MODES, type Mode } from './models.ts';
import { referenceProblem } from './reference-rules.ts';
import { checkRequest, type GenerationRequest, inputsOf, storedUrl } from './request.ts';

const PLAIN = requestOf({ prompt: 'a lighthouse at dawn' });

const MEDIA = {
  image_url: 'https://media.example/first.png',
  end_image_url: 'https://media.example/last.png',
  reference_image_urls: ['https://media.example/a.png'],
  reference_video_urls: ['https://media.example/a.mp4'],
  reference_video_durations: [3],
};
type MediaField = keyof typeof MEDIA;

function rules(allow: string[] = [], catalog = BUILT_IN) {
  return { hosts: { allow: new Set(allow) }, catalog, at: new Date() };
}

/** The details of the request's 400; undefined when the request is accepted. */
function refusal(wish: Partial<GenerationRequest>, allow: string[] = [], catalog = BUILT_IN) {
  try {
    checkRequest({ ...PLAIN, ...wish }, rules(allow, catalog));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'invalid_request');
    return error.details;
  }
}

/** The contract's mode rules: whether a request with this set of media fields is accepted. */
function isAccepted(mode: Mode, given: Set<MediaField>): boolean {
  const frames = given.has('image_url') || given.has('end_image_url');
  const images = given.has('reference_image_urls');
  const videos = given.has('reference_video_urls');
  const durations = given.has('reference_video_durations');
  switch (mode) {
    case 'text-to-video':
      return given.size === 0;
    case 'image-to-video':
      return given.has('image_url') && !images && !videos && !durations;
    case 'media-to-video':
      return !frames && (images || videos) && videos === durations;
  }
}

test('each mode accepts exactly the combinations of media fields that the contract lists', () => {
  const fields = Object.keys(MEDIA) as MediaField[];
  for (const mode of MODES) {
    for (let bits = 0; bits < 2 ** fields.length; bits += 1) {
      const given = fields.filter((_, index) => bits & (1 << index));
      const media = Object.fromEntries(given.map((field) => [field, MEDIA[field]]));
      const details = refusal({ mode, ...media });
      const accepted = isAccepted(mode, new Set(given));
      assert.equal(details === undefined, accepted, `${mode} with ${given.join(' ') || 'none'}`);
    }
  }
});

function withVideos(urls: number, durations: number[] | undefined): Partial<GenerationRequest> {
  return {
    mode: 'media-to-video',
    reference_image_urls: ['https://media.example/a.png'],
    reference_video_urls: Array.from({ length: urls }, (_, n) => `https://media.example/${n}.mp4`),
    ...(durations && { reference_video_durations: durations }),
  };
}

test('each reference video needs a duration, and the total is at most 15 seconds', async () => {
  const durations = fc.array(fc.integer({ min: 2, max: 15 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 }), durations, (urls, seconds) => {
      const total = seconds.reduce((sum, one) => sum + one, 0);
      const details = refusal(withVideos(urls, seconds));
      if (urls === seconds.length && total <= 15) return assert.equal(details, undefined);
      assert.equal(details?.field, 'reference_video_durations');
      const reason = urls === seconds.length ? 'total_too_long' : 'count_mismatch';
      assert.equal(details?.reason, reason);
    }),
  );
  const missing = { field: 'reference_video_durations', reason: 'required', expected: 2, given: 0 };
  assert.deepEqual(refusal(withVideos(2, undefined)), missing);
});

test('what an added model does not offer is refused, also as a default; the details list what it offers', () => {
  const model = NOVA.name;
  const refused = (wish: Partial<GenerationRequest>, catalog = catalogWith(NOVA)) =>
    refusal({ model, resolution: '480p', ...wish }, [], catalog);
  assert.equal(refused({}), undefined);
  const notOffered = { reason: 'not_offered', model };
  const { reference_image_urls: _, image_url, end_image_url: __, ...videos } = MEDIA;
  const lacks: [Partial<GenerationRequest>, object][] = [
    [{ resolution: '720p' }, { resolution: '720p', offered: ['480p'] }],
    [{ duration: 6 }, { duration: 6, offered: [5, 10] }],
    [{ aspect_ratio: 'adaptive' }, { aspect_ratio: 'adaptive', offered: ['16:9', '9:16'] }],
    [
      { mode: 'image-to-video', image_url },
      { mode: 'image-to-video', offered: NOVA.modes },
    ],
  ];
  for (const [wish, details] of lacks) {
    const [field] = Object.keys(wish);
    assert.deepEqual(refused(wish), { field, ...notOffered, ...details });
  }
  const field = 'reference_video_urls';
  const details = refused({ mode: 'media-to-video', ...videos });
  assert.deepEqual(details, { field, ...notOffered, offered: [] });
  const allowedValues = BUILT_IN.models.map(({ name }) => name);
  const unknown = { field: 'model', reason: 'not_one_of', allowedValues };
  assert.deepEqual(refused({}, catalogWith({ ...NOVA, state: 'retired' })), unknown);
  assert.equal(refused({}, catalogWith({ ...NOVA, state: 'hidden' })), undefined);
});

test('the inputs of a request come in the order of its fields, videos with their seconds', () => {
  const named = inputsOf({ ...PLAIN, ...MEDIA, reference_video_durations: [7] });
  const seen = named.map(({ field, entry, kind, declaredSeconds }) => [
    field,
    entry,
    kind,
    declaredSeconds,
  ]);
  assert.deepEqual(seen, [
    ['image_url', null, 'image', null],
    ['end_image_url', null, 'image', null],
    ['reference_image_urls', 0, 'image', null],
    ['reference_video_urls', 0, 'video', 7],
  ]);
  assert.deepEqual(inputsOf(PLAIN), []);
});

test('an address under the service’s own uploads names an upload, unless it has credentials or another scheme', () => {
  const own = 'https://video.example.com/uploads';
  const stored = (url: string) => storedUrl(url, 'https://video.example.com');
  assert.equal(stored(`${own}/obj_1`), 'upload:obj_1');
  assert.equal(stored('HTTPS://Video.Example.com:443/uploads/obj_1'), 'upload:obj_1');
  for (const url of [
    'https://ada@video.example.com/uploads/obj_1',
    'https://:secret@video.example.com/uploads/obj_1',
    'http://video.example.com/uploads/obj_1',
    'https://video.example.com/other/obj_1',
    'not an address',
  ]) {
    assert.equal(stored(url), url);
  }
});

function video(width: number, height: number, durationSeconds: number) {
  return { width, height, durationSeconds } as VideoFacts;
}

test('a reference video lasts 2 to 15 seconds, rounded, with a short side of 480 to 720 pixels', () => {
  const cases: [seen: VideoFacts, reason?: string][] = [
    [video(854, 480, 1.5)],
    [video(720, 1280, 15.4)],
    [video(854, 480, 1.4), 'duration_out_of_range'],
    [video(854, 480, 15.5), 'duration_out_of_range'],
    [video(854, 478, 5), 'short_side_out_of_range'],
    [video(722, 1280, 99), 'short_side_out_of_range'],
  ];
  for (const [seen, reason] of cases) assert.equal(referenceProblem(seen)?.reason, reason);
});
