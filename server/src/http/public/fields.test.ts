import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { openTestApp } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';

const api = await openTestApp();
/** Has no credits: a valid request gets 402, and no task is ever created. */
const poor = await api.customer(0);
after(() => api.close());

const IMAGE = 'https://media.example/a.png';
const VIDEO = 'https://media.example/a.mp4';
const MODES = ['text-to-video', 'image-to-video', 'media-to-video'];
const MODELS = ['video-2.0', 'video-2.0-fast', 'video-2.0-mini'];
const RATIOS = ['1:1', '21:9', '4:3', '3:4', '16:9', '9:16', 'adaptive'];
const RESOLUTIONS = ['480p', '720p', '1080p', '4k'];

/** A field of the contract: values to send in it, whether each is valid, and the rest of the body. */
interface Field {
  values: fc.Arbitrary<unknown>;
  isValid(value: unknown): boolean;
  /** Values that are always tried: the last valid and the first invalid ones. */
  edges?: unknown[] | undefined;
  /** A body that is valid with a valid value of the field. */
  rest(value: unknown): Record<string, unknown>;
}

/** Values of every JSON type, so that each field also gets values of wrong types. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, 0, '', '5', 'true', 'null', [], {}, [[]], [null], { a: 1 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string(),
  fc.array(fc.oneof(fc.integer(), fc.string()), { maxLength: 3 }),
);

const isText = (value: unknown) => typeof value === 'string';
const isWhole = (value: unknown, min: number, max: number) =>
  Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
const text = () => ({ prompt: 'a lighthouse at dawn', model: 'video-2.0' });
const media = () => ({ prompt: 'a lighthouse at dawn', mode: 'media-to-video' });

function oneOf(names: string[], rest: Field['rest'] = text): Field {
  const near = fc.constantFrom(...names, ...names.map((name) => name.toUpperCase()), 'auto', ' ');
  const isValid = (value: unknown) => names.some((name) => name === value);
  return { values: fc.oneof(near, anything), isValid, edges: names, rest };
}

function whole(min: number, max: number): Field {
  const near = fc.oneof(
    fc.integer({ min: min - 3, max: min + 3 }),
    fc.integer({ min: max - 3, max: max + 3 }),
    fc.double({ min, max, noNaN: true }),
    fc.integer({ min, max }).map(String),
  );
  const isValid = (value: unknown) => isWhole(value, min, max);
  const edges = [min - 1, min, max, max + 1];
  return { values: fc.oneof(near, anything), isValid, edges, rest: text };
}

const goodUrls = [IMAGE, 'HTTPS://MEDIA.EXAMPLE', 'https://media.example:8443/a?b=c&d=%20#e'];
const badUrls = ['', 'media.example', '/a.png', '//a', 'https://', 'https://a b', 'mailto:a@b.c']
  .concat(['http://media.example/', 'data:image/png;base64,AA', 'https://u:p@media.example/'])
  .concat(['https://127.0.0.1/', 'https://[::1]/', 'https://localhost/', 'https://10.1.2.3/']);
const longUrls = fc
  .integer({ min: 2040, max: 2056 })
  .map((length) => `${IMAGE}?`.padEnd(length, 'x'));
const urls = fc.oneof(fc.constantFrom(...goodUrls), longUrls);

function isUrl(value: unknown): boolean {
  if (!isText(value)) return false;
  return goodUrls.includes(value) || (value.startsWith(IMAGE) && value.length <= 2048);
}

function url(rest: Field['rest']): Field {
  const values = fc.oneof(urls, fc.constantFrom(...badUrls), anything);
  const edges = [2048, 2049].map((length) => `${IMAGE}?`.padEnd(length, 'x'));
  return { values, isValid: isUrl, edges: [...edges, ...badUrls], rest };
}

function list(
  entries: fc.Arbitrary<unknown>,
  isValid: Field['isValid'],
  { rest, edges }: Pick<Field, 'rest' | 'edges'>,
): Field {
  const values = fc.oneof(fc.array(entries, { maxLength: 10 }), anything);
  return { values, isValid, edges, rest };
}

function isListOf(
  value: unknown,
  [min, max]: [number, number],
  isEntry: Field['isValid'],
): boolean {
  return Array.isArray(value) && value.length >= min && value.length <= max && value.every(isEntry);
}

/** A body in which the other list of reference videos has as many entries as the value. */
function videosFor(value: unknown, field: string, filler: unknown): Record<string, unknown> {
  const count = Array.isArray(value) ? value.length : 1;
  if (count === 0 && field === 'reference_video_durations') {
    return { ...media(), reference_image_urls: [IMAGE] };
  }
  return { ...media(), [field]: Array.from({ length: Math.min(count, 3) }, () => filler) };
}

const characters = fc.constantFrom('x', '😀', 'é', ' ', '\u200d', '\n');
const prompts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.array(characters, { maxLength: 5 }).map((list) => list.join('')),
  fc.tuple(characters, fc.integer({ min: 3997, max: 4003 })).map(([one, n]) => one.repeat(n)),
);

function isPrompt(value: unknown): boolean {
  if (!isText(value) || value.includes('\u0000') || !value.isWellFormed()) return false;
  const length = Array.from(value).length;
  return length >= 3 && length <= 4000;
}

const FIELDS: Record<string, Field> = {
  mode: oneOf(MODES, (value) => {
    if (value === 'image-to-video') return { prompt: 'abc', image_url: IMAGE };
    if (value === 'media-to-video') return { prompt: 'abc', reference_image_urls: [IMAGE] };
    return { prompt: 'abc' };
  }),
  model: oneOf(MODELS, () => ({ prompt: 'abc', resolution: '480p' })),
  prompt: {
    values: fc.oneof(prompts, anything),
    isValid: isPrompt,
    edges: [2, 3, 4000, 4001].flatMap((length) => ['x'.repeat(length), '😀'.repeat(length)]),
    rest: () => ({}),
  },
  aspect_ratio: oneOf(RATIOS),
  duration: whole(4, 15),
  resolution: oneOf(RESOLUTIONS),
  seed: whole(-1, 4294967295),
  generate_audio: {
    values: anything,
    isValid: (value) => typeof value === 'boolean',
    rest: text,
  },
  image_url: url(() => ({ prompt: 'abc', mode: 'image-to-video' })),
  end_image_url: url(() => ({ prompt: 'abc', mode: 'image-to-video', image_url: IMAGE })),
  reference_image_urls: list(
    fc.oneof({ weight: 20, arbitrary: urls }, { weight: 1, arbitrary: anything }),
    (value) => isListOf(value, [0, 8], isUrl),
    {
      edges: [0, 1, 8, 9].map((count) => Array(count).fill(IMAGE)),
      rest: () => ({ ...media(), reference_video_urls: [VIDEO], reference_video_durations: [3] }),
    },
  ),
  reference_video_urls: list(
    fc.oneof({ weight: 20, arbitrary: urls }, { weight: 1, arbitrary: anything }),
    (value) => isListOf(value, [0, 3], isUrl),
    {
      edges: [0, 1, 3, 4].map((count) => Array(count).fill(IMAGE)),
      rest: (value) => videosFor(value, 'reference_video_durations', 2),
    },
  ),
  reference_video_durations: list(
    fc.oneof(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 2, max: 5 }), anything),
    (value) =>
      isListOf(value, [1, 3], (entry) => isWhole(entry, 2, 15)) &&
      Array.isArray(value) &&
      value.reduce((sum, entry) => sum + entry, 0) <= 15,
    {
      edges: [[], [1], [2], [15], [16], [2, 2, 11], [2, 2, 12], [5, 5, 5], [2, 2, 2, 2]],
      rest: (value) => videosFor(value, 'reference_video_urls', VIDEO),
    },
  ),
};

for (const [name, field] of Object.entries(FIELDS)) {
  test(`${name} accepts exactly the values of the contract, without coercion`, async () => {
    await fc.assert(
      fc.asyncProperty(field.values, async (value) => {
        const response = await poor.create({ ...field.rest(value), [name]: value });
        const sent = JSON.parse(JSON.stringify({ value })).value; // -0 is sent as 0
        if (field.isValid(sent)) assertError(response, 'insufficient_credits');
        else assertError(response, 'invalid_request', { field: name });
      }),
      { numRuns: 40, examples: (field.edges ?? []).map((edge) => [edge]) },
    );
  });
}

const KNOWN = new Set(Object.keys(FIELDS));
const unknownNames = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'Prompt', 'prompt ', 'callback_url', ''),
  fc.string({ unit: 'grapheme' }),
);

test('an unknown property with any value is refused, and the error names it', async () => {
  await fc.assert(
    fc.asyncProperty(unknownNames, anything, async (name, value) => {
      fc.pre(!KNOWN.has(name));
      const body = new Map<string, unknown>([['prompt', 'abc']]).set(name, value);
      const response = await poor.create(Object.fromEntries(body));
      assertError(response, 'invalid_request', { field: name, reason: 'unknown_property' });
    }),
    { numRuns: 40 },
  );
});

test('the prompt is required, and a wrong length gets the message of the contract', async () => {
  const words = 'prompt must contain between 3 and 4000 characters.';
  for (const prompt of ['', 'ab', '😀😀', 'x'.repeat(4001), '😀'.repeat(4001)]) {
    const response = await poor.create({ prompt });
    assertError(response, 'invalid_request', { field: 'prompt' });
    assert.equal(response.body.error.message, words);
  }
  const missing = await poor.create({ seed: 1 });
  assertError(missing, 'invalid_request', { field: 'prompt', reason: 'required' });
});

test('the details of a 400 have the reason, the limit and the index in a list', async () => {
  const mode = 'media-to-video';
  const videos = 'reference_video_urls';
  const pictures = 'reference_image_urls';
  const seconds = 'reference_video_durations';
  const timed = (durations: number[]) => ({ mode, [videos]: [VIDEO], [seconds]: durations });
  const cases: [body: object, field: string, reason: string, more?: object][] = [
    [{ duration: 3 }, 'duration', 'too_small', { limit: 4 }],
    [{ duration: 16 }, 'duration', 'too_large', { limit: 15 }],
    [{ duration: '5' }, 'duration', 'wrong_type'],
    [{ seed: null }, 'seed', 'wrong_type'],
    [{ mode: 'x' }, 'mode', 'not_one_of', { allowedValues: MODES }],
    [{ mode: 'image-to-video', image_url: 'a b' }, 'image_url', 'malformed'],
    [{ mode, [pictures]: Array(9).fill(IMAGE) }, pictures, 'too_many', { limit: 8 }],
    [{ mode, [pictures]: [IMAGE, 'http://a.example/'] }, pictures, 'not_https', { entry: 1 }],
    [{ mode, [videos]: [VIDEO, 7] }, videos, 'wrong_type', { entry: 1 }],
    [timed([]), seconds, 'too_few', { limit: 1 }],
    [timed([16]), seconds, 'too_large', { entry: 0, limit: 15 }],
  ];
  for (const [body, field, reason, more] of cases) {
    const response = await poor.create({ prompt: 'abc', ...body });
    assertError(response, 'invalid_request', { field, reason, ...more });
  }
});

test('the error of a URL with characters that it may not contain says how to encode them', async () => {
  const frames = { prompt: 'abc', mode: 'image-to-video' };
  for (const url of ['https://bücher.example/a.png', 'https://a.example/a b.png', 'a.png']) {
    const { body } = await poor.create({ ...frames, image_url: url });
    assert.match(body.error.message, /^image_url must be .*ASCII.*punycode.*percent-encode/, url);
  }
  const encoded = 'https://xn--bcher-kva.example/a%20b.png';
  assertError(await poor.create({ ...frames, image_url: encoded }), 'insufficient_credits');
});
