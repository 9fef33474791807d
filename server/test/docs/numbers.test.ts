import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { filesOf, GUIDES } from '../../../console/docs/contents.ts';
import { PRICE_TABLE } from '../../src/catalog/price.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** A number in the code, and the words with it on pages: if it changes, they have to change, too. */
interface Fact {
  file: string;
  /** A part of the file. */
  code: string;
  said: Record<string, string[]>;
}

const FACTS: Fact[] = [
  {
    file: 'config/config.ts',
    code: "'RETENTION_DAYS', 30,",
    said: { waiting: ['deleted after 30 days'] },
  },
  {
    file: 'accounts/key-gate.ts',
    code: 'REQUESTS_PER_WINDOW = 30;',
    said: {
      limits: ['may send 30 requests in any 60 seconds', 'in the next 60 seconds'],
      ERRORS: ['more than 30 requests in 60 seconds', '30 requests in any 60 seconds'],
      'test-keys': ['30 requests a minute', 'may send 30 requests in 60 seconds'],
      webhooks: ['half of the 30 requests a minute'],
      api: ['may send 30 requests in 60 seconds', 'in the next 60 seconds'],
    },
  },
  { file: 'accounts/key-gate.ts', code: 'WINDOW_SECONDS = 60;', said: {} },
  {
    file: 'catalog/limits.ts',
    code: 'PROMPT_CHARACTERS = { min: 3, max: 4000 }',
    said: { inputs: ['3 to 4000 characters'] },
  },
  {
    file: 'catalog/limits.ts',
    code: 'REFERENCE_IMAGES = 8;',
    said: { inputs: ['up to eight pictures'] },
  },
  {
    file: 'catalog/limits.ts',
    code: 'REFERENCE_VIDEOS = 3;',
    said: { inputs: ['three videos', 'up to 3'] },
  },
  {
    file: 'catalog/limits.ts',
    code: 'DURATION_SECONDS = { min: 4, max: 15 }',
    said: { inputs: ['4 to 15, in seconds'], moving: ['4 to 15'] },
  },
  {
    file: 'catalog/limits.ts',
    code: 'REFERENCE_SECONDS = { min: 2, max: 15 }',
    said: {
      inputs: ['2 to 15 seconds each, 15 together'],
      ERRORS: ['does not last 2 to 15 seconds'],
      'media-rules': ['It lasts 2 to 15 seconds', 'past 15 seconds'],
    },
  },
  {
    file: 'catalog/limits.ts',
    code: 'TOTAL_REFERENCE_SECONDS = 15;',
    said: { ERRORS: ['last more than 15 seconds together'] },
  },
  {
    file: 'catalog/limits.ts',
    code: 'SHORT_SIDE = { min: 480, max: 720 }',
    said: {
      inputs: ['480 to 720 pixels'],
      ERRORS: ['480 to 720 pixels'],
      'media-rules': ['480 to 720 pixels'],
    },
  },
  {
    file: 'catalog/limits.ts',
    code: 'INPUT_BYTES = 268_435_456;',
    said: {
      inputs: ['256 MB for all files of a request'],
      ERRORS: ['exceed 268435456 bytes'],
      uploads: ['may have 256 MB'],
      'media-rules': ['268,435,456 bytes (256 MB)'],
    },
  },
  {
    file: 'requests/receive-upload.ts',
    code: 'MAX_UPLOAD_BYTES = 100 * MEGABYTE;',
    said: {
      ERRORS: ['an uploaded file 100 MB', 'more than 100 MB gets 413'],
      uploads: ['at most 100 MB'],
    },
  },
  {
    file: 'requests/receive-upload.ts',
    code: 'MIN_UPLOAD_RATE = { bytes: MEGABYTE / 2, seconds: 30 };',
    said: { ERRORS: ['less than half a megabyte arrived in 30 seconds'] },
  },
  {
    file: 'requests/upload-slots.ts',
    code: 'ofMailbox: 3,',
    said: { uploads: ['three at a time'] },
  },
  {
    file: 'requests/receive-upload.ts',
    code: "UPLOADS = { name: 'uploads', max: 60, seconds: 600 };",
    said: {
      ERRORS: ['more than 60 uploads of an account in ten minutes'],
      uploads: ['60 uploads in ten minutes'],
    },
  },
  {
    file: 'http/public/uploads.ts',
    code: 'LINK_SECONDS = 900;',
    said: { uploads: ['15 minutes'] },
  },
  {
    file: 'uploads/quota.ts',
    code: 'QUOTA_BYTES = { unpaid: 100 * MEGABYTE, paid: 1024 * MEGABYTE };',
    said: {
      ERRORS: ['100 MB until the account has got paid credits, then 1024 MB'],
      uploads: ['100 MB until you buy credits, then 1024 MB'],
    },
  },
  {
    file: 'uploads/uploads.ts',
    code: 'UPLOAD_DAYS = { website: 7, api: 1 };',
    said: { uploads: ['a day after the upload', 'last for seven days'] },
  },
  {
    file: 'requests/bodies.ts',
    code: 'BODY_BYTES = 64 * 1024;',
    said: { ERRORS: ['64 KiB'] },
  },
  {
    file: 'http/public/get-task.ts',
    code: 'MAX_WAIT_SECONDS = 30;',
    said: {
      waiting: ['one every 30 seconds', '(1 to 30)'],
      api: ['(1 to 30 seconds)'],
    },
  },
  {
    file: 'webhooks/endpoints.ts',
    code: 'MAX_ENDPOINTS = 10;',
    said: { webhooks: ['ten endpoints'] },
  },
  {
    file: 'webhooks/endpoints.ts',
    code: 'MAX_PER_HOUR = 30;',
    said: { ERRORS: ['more than 30 new webhook endpoints in an hour'] },
  },
  {
    file: 'webhooks/endpoints.ts',
    code: 'OVERLAP_HOURS = 24;',
    said: { webhooks: ['For a day both secrets sign'] },
  },
  {
    file: 'webhooks/log.ts',
    code: 'TESTS_PER_MINUTE = 10;',
    said: { ERRORS: ['10 test events of one in a minute'] },
  },
  {
    file: 'webhooks/log.ts',
    code: 'LOG_DAYS = 30;',
    said: { webhooks: ['kept for up to 30 days', 'keeps each try for 30 days'] },
  },
  {
    file: 'webhooks/deliver.ts',
    code: 'DELIVERY_SECONDS = 15;',
    said: {
      webhooks: ['within 15 seconds'],
      'going-live': ['within 15 seconds'],
    },
  },
  {
    file: 'webhooks/outcome.ts',
    code: 'RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]',
    said: {
      webhooks: [
        'after 5 seconds, 5 and 30 minutes, 2, 5, 10, 14, 20 and 24 hours',
        'After ten tries',
      ],
    },
  },
  { file: 'webhooks/outcome.ts', code: 'JITTER = 0.1;', said: { webhooks: ['a tenth later'] } },
  { file: 'webhooks/outcome.ts', code: 'FAILING_DAYS = 5;', said: { webhooks: ['five days'] } },
  {
    file: 'webhooks/outcome.ts',
    code: 'MAX_REST_SECONDS = 300;',
    said: { webhooks: ['up to five minutes between two tries'] },
  },
  {
    file: 'media/image/layout.ts',
    code: 'MAX_FLAWS = 1000;',
    said: { 'media-rules': ['At most 1,000 flaws'] },
  },
  {
    file: 'media/video/timeline.ts',
    code: 'LAST_FRAME_SECONDS = 60;',
    said: { 'media-rules': ['up to 60 seconds'] },
  },
  {
    file: 'media/image/png.ts',
    code: 'MAX_UNPACKED_BYTES = 2 ** 20;',
    said: { 'media-rules': ['at most 1 MB'] },
  },
  {
    file: 'outbound/download.ts',
    code: 'MAX_REDIRECTS = 5;',
    said: { ERRORS: ['more than 5 redirects'] },
  },
  {
    file: 'requests/bodies.ts',
    code: 'MAX_DEPTH = 32;',
    said: { ERRORS: ['more than 32 levels'] },
  },
  {
    file: 'worker/ingest.ts',
    code: 'MORE_REFUSALS_MS = 2000;',
    said: { ERRORS: ['up to two seconds after the first one'] },
  },
  {
    file: 'providers/local/scripted.ts',
    code: 'WORK_SECONDS = 2;',
    said: { 'test-keys': ['after about 2 seconds'] },
  },
  {
    file: 'providers/local/scripted.ts',
    code: 'SLOW_SECONDS = 30;',
    said: { 'test-keys': ['completed after 30 seconds'] },
  },
  {
    file: 'providers/local/scripted.ts',
    code: 'HELD_SECONDS = 10;',
    said: { 'test-keys': ['After 10 seconds', 'after 10 seconds', 'after about 10 seconds'] },
  },
  {
    file: 'ledger/test-credits.ts',
    code: 'TEST_CREDITS = 100_000;',
    said: {
      'test-keys': ['100,000 at first', 'back to 100,000'],
    },
  },
  {
    file: 'media/measure.ts',
    code: 'timeoutSeconds: 120,\n  memoryBytes: 1536 * MEGABYTE,',
    said: { 'media-rules': ['at most 120 seconds, and at most 1,536 MB'] },
  },
  {
    file: 'catalog/reference-rules.ts',
    code: 'belowSeconds: wholeSeconds + 0.5',
    said: { 'media-rules': ['half a second past the declared duration'] },
  },
  {
    file: 'media/measure.ts',
    code: 'imagePixels: 64_000_000,',
    said: {
      inputs: ['at most 64 megapixels'],
      'media-rules': ['At most 64,000,000 pixels (64 megapixels)'],
    },
  },
  {
    file: 'media/measure.ts',
    code: 'videoPixels: 4096 * 2304,',
    said: { 'media-rules': ['At most 9,437,184 pixels (4096 x 2304)'] },
  },
  {
    file: '../../clients/mcp/src/generate.ts',
    code: 'MAX_WAIT_SECONDS = 45;',
    said: { 'clients/mcp/README': ['at most 45 seconds', 'After 45 seconds'] },
  },
  {
    file: '../../clients/ai-sdk/src/request.ts',
    code: 'DEFAULT_TIMEOUT_MS = 600_000;',
    said: { 'clients/ai-sdk/README': ['at most ten minutes'] },
  },
  {
    file: '../../clients/typescript/src/request.ts',
    code: 'LONGEST_RETRY_AFTER_SECONDS = 600;',
    said: { 'clients/typescript/README': ['up to ten minutes'] },
  },
  {
    file: '../../clients/mcp/src/schemas.ts',
    code: 'minLength: 8,',
    said: { 'clients/mcp/README': ['at least 8 characters'] },
  },
  {
    file: '../../console/src/docs/test-key.ts',
    code: 'DAYS_VALID = 7;',
    said: { quickstart: ['for seven days'], 'test-keys': ['after seven days'] },
  },
];

const { standard, referenced } = PRICE_TABLE;
const FAST = standard['video-2.0-fast']['720p'] ?? 0;
const BEST = {
  alone: standard['video-2.0']['1080p'] ?? 0,
  beside: referenced['video-2.0']['1080p'] ?? 0,
};
const number = (value: number) => value.toLocaleString('en');
const PRICES = [
  `${5 * FAST} credits: five seconds at ${FAST} credits each`,
  `8 seconds of video-2.0 in 1080p with one reference video of 5 seconds cost (8 + 5) × ${BEST.beside} = ${number(13 * BEST.beside)} credits`,
  `8 seconds cost 8 × ${BEST.alone} = ${number(8 * BEST.alone)} credits`,
  `100,000 test credits are enough for ${100_000 / (5 * FAST)} videos of five seconds`,
];

/** Numbers of examples, of advice and of other services. */
const NO_LIMITS = [
  'one every 5 seconds',
  '27 more requests pass', // a header that is shown
  '12 more requests pass in the next 7 seconds', // the same
  'for 24 hours', // ModelArk
  'six languages',
  'five-second video',
  '503 with credits',
  '2.0 models',
];

const plain = (markdown: string) =>
  markdown
    .replaceAll(/<!--.*?<!-- end -->|<!--.*?-->|^```.*?^```/gms, '')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ');

const fileOf = (page: string) =>
  page.startsWith('clients/') ? `${page}.md` : `docs/customers/${page}.md`;

test('the code has each number that the list of limits names', () => {
  for (const { file, code } of FACTS) {
    const text = read(path.join('server/src', file));
    assert.ok(
      text.includes(code),
      `${file} has no “${code}”: correct its row, and the pages there`,
    );
  }
});

const WORDS = 'two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|half an?';
const UNITS =
  'requests?|seconds?|minutes?|hours?|days?|MB|KiB|megabytes?|credits|characters|megapixels|pixels' +
  '|endpoints|tries|pictures|videos|images|uploads|redirects|levels|bytes|years|languages';
const NUMBER = new RegExp(`\\b(?:\\d[\\d,.]*|${WORDS})[ -](?:\\w+ )?(?:${UNITS})\\b`, 'gi');

test('pages for customers have no limit that is not in the list', () => {
  const unknown: string[] = [];
  for (const file of filesOf(GUIDES)) {
    const facts = FACTS.flatMap(({ said }) =>
      Object.entries(said).flatMap(([page, phrases]) => (fileOf(page) === file ? phrases : [])),
    );
    let text = plain(read(file));
    for (const phrase of facts) assert.ok(text.includes(phrase), `${file} lacks “${phrase}”`);
    for (const phrase of [...facts, ...NO_LIMITS, ...PRICES]) text = text.replaceAll(phrase, '');
    for (const [found] of text.matchAll(NUMBER)) unknown.push(`${file}: ${found}`);
  }
  assert.deepEqual(unknown, [], 'add them to the list, or to those that are no limits');
});

test('the prices in sentences are those of the table', () => {
  const pages = ['quickstart', 'prices', 'test-keys'].map(fileOf);
  const text = pages.map((file) => plain(read(file))).join(' ');
  for (const phrase of PRICES) assert.ok(text.includes(phrase), phrase);
});
