import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { blackPng } from '../../test/media/image-parts.ts';
import { until } from '../../test/until.ts';
import { BRAND_FIELDS, type BrandField, DEFAULT_BRAND } from './brand.ts';
import { accentTokens } from './color.ts';
import { LOGO_BYTES } from './logo.ts';
import { followBrand, setBrand } from './stored-brand.ts';

const png = (width: number, height: number) => blackPng(width, height).toString('base64');
const webp = (flags: number) => {
  const size = [63, 0, 0, 31, 0, 0];
  const head = Buffer.concat([Buffer.from('WEBPVP8X'), Buffer.from([10, 0, 0, 0])]);
  const body = Buffer.concat([head, Buffer.from([flags, 0, 0, 0, ...size])]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([Buffer.from('RIFF'), length, body]).toString('base64');
};
const SHARE = `/s/${'a'.repeat(46)}`;
const text = (words: string) => Buffer.from(words).toString('base64');

function check(field: BrandField, given: string): string {
  return BRAND_FIELDS[field].check(given, (bound) => {
    throw new Error(bound);
  });
}

test('what a brand can be, and what is refused with a sentence that helps', () => {
  const cases: [BrandField, given: string, kept: string | RegExp][] = [
    ['name', 'Ada’s <b>&"Films"</b> 映画 👩‍🎬', 'Ada’s <b>&"Films"</b> 映画 👩‍🎬'],
    ['name', 'x'.repeat(61), /at most 60/],
    ['name', 'Ada\r\nBcc: eve@example.org', /one line/],
    ['name', 'Ada\u202esmliF', /one line/],
    ['name', 'Ada\u2028Films', /one line/],
    ['color', '#1A6FD4', '#1a6fd4'],
    ['color', '#ff0000', '#ff0000'],
    ['color', 'red', /such as #/],
    ['color', '#fff;}body{display:none', /such as #/],
    ['color', '#ffff00', /#ffff00 has 1\.1:1 in the light one, #[0-9a-f]{6} would do/],
    ['color', '#000080', /#000080 has 1\.1:1 in the dark one, #[0-9a-f]{6} would do/],
    ['hero_text', 'Films, without a camera', 'Films, without a camera'],
    ['hero_text', 'x'.repeat(81), /at most 80/],
    ['videos', `https://video.example.com${SHARE}, ${SHARE}`, `${SHARE} ${SHARE}`],
    ['videos', 'https://video.example.com/videos/task_1', /begin with \/s\//],
    ['videos', `https://a:b@evil.example/x?${SHARE}`, /begin with \/s\//],
    ['videos', Array(7).fill(SHARE).join(' '), /at most 6/],
    ['support_email', 'help@example.com', 'help@example.com'],
    ['support_email', 'Help <help@example.com>', /an e-mail address/],
    ['support_email', 'a@example.com,b@example.com', /an e-mail address/],
    ['support_email', 'help?bcc=eve@example.com', /an e-mail address/],
    ['terms_url', 'https://example.com/a b?c="d"', 'https://example.com/a%20b?c=%22d%22'],
    ['terms_url', 'http://example.com/terms', /https/],
    ['privacy_url', 'javascript:alert(1)', /https/],
    ['imprint_url', 'https://ada:pw@example.com', /without a password/],
    ['logo', png(64, 64), png(64, 64)],
    ['logo', webp(0), webp(0)],
    ['logo', webp(2), /still PNG or WebP/],
    ['logo', png(1025, 1), /at most 1024 pixels/],
    ['logo', png(64, 64).slice(0, 60), /whole, still/],
    ['logo', text('<svg xmlns="http://www.w3.org/2000/svg"/>'), /PNG or WebP/],
    ['logo', text('\xff\xd8\xff'), /PNG or WebP/],
    ['logo', Buffer.alloc(LOGO_BYTES + 1).toString('base64'), /at most 32768 bytes/],
  ];
  for (const [field, given, kept] of cases) {
    if (typeof kept === 'string') assert.equal(check(field, given), kept);
    else assert.throws(() => check(field, given), { message: kept }, `${field}: ${given}`);
  }
});

test('the colour that a refusal names is accepted, and its text can be read', () => {
  for (const color of ['#ffff00', '#ffffff', '#000080', '#000000', '#96bf48', '#4a154b']) {
    let better = '';
    assert.throws(
      () => check('color', color),
      ({ message }: Error) => {
        better = /(#[0-9a-f]{6}) would do/.exec(message)?.[1] ?? '';
        return true;
      },
    );
    assert.equal(check('color', better), better);
    const tokens = accentTokens(better);
    assert.match(String(tokens['--color-on-tungsten']), /^#(000000|ffffff)$/);
    assert.match(String(tokens['--color-print']), /^light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\)$/);
  }
});

test('each process follows what operators set, and a variable wins', async () => {
  const { db } = await openTestDatabase();
  const stopping = new AbortController();
  after(() => stopping.abort());
  const follow = (fixed = {}) => followBrand({ db, log: quiet, signal: stopping.signal, fixed });
  const change = (changes: Parameters<typeof setBrand>[1]) =>
    db.transaction((tx) => setBrand(tx, changes));
  const brand = await follow();
  assert.deepEqual(brand.current(), DEFAULT_BRAND);
  assert.equal(await change({ name: 'Ada', support_email: 'help@example.com' }), true);
  assert.equal(await change({ name: 'Ada' }), false);
  const name = async () => brand.current().name;
  await until(name, (current) => current === 'Ada', 10);
  const fixed = await follow({ name: 'Bob' });
  assert.deepEqual(fixed.current(), { name: 'Bob', support_email: 'help@example.com' });
  assert.equal(await change({ name: null, support_email: null }), true);
  assert.deepEqual((await follow()).current(), DEFAULT_BRAND);
});
