import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { openTestApp } from '../../../test/app.ts';
import { blackPng } from '../../../test/media/image-parts.ts';
import { openTestFolder } from '../../../test/temporary-folder.ts';
import { type Brand, DEFAULT_BRAND } from '../../brand/brand.ts';
import { createApp } from '../../http/app.ts';
import { isPageRequest, PAGE_PATHS, pageRoutes } from './pages.ts';

const INDEX = '<!doctype html><title>Framewright</title>';
const SCRIPT = 'export const answer = 42;';

const plain = await openTestApp();
const files = await openTestFolder();
const folder = path.join(files.path, 'build');
/** A file beside the folder of the build. */
const secret = path.join(files.path, 'secret.txt');
await mkdir(path.join(folder, 'assets'), { recursive: true });
await writeFile(secret, 'outside of the build');
await mkdir(path.join(folder, 'packages'));
await writeFile(path.join(folder, 'index.html'), INDEX);
await writeFile(path.join(folder, 'favicon.svg'), '<svg><title>%brand%</title>%accent%</svg>');
await writeFile(path.join(folder, 'robots.txt'), 'Sitemap: http://127.0.0.1:8080/docs/sitemap.xml');
await writeFile(path.join(folder, 'llms.txt'), '# %brand%');
await mkdir(path.join(folder, 'docs/branded'), { recursive: true });
const MARKS = '<title>%brand%</title><!-- brand --><!-- logo --><!-- links -->';
await writeFile(path.join(folder, 'docs/branded/index.html'), MARKS);
let brand: Brand = DEFAULT_BRAND;
for (const page of ['docs/quickstart', 'docs/operations/overview']) {
  await mkdir(path.join(folder, page), { recursive: true });
  await writeFile(
    path.join(folder, page, 'index.html'),
    `${page} http://127.0.0.1:8080/api/v1<!-- edit docs/a.md -->`,
  );
}
await writeFile(path.join(folder, 'docs/quickstart.md'), '# First');
await writeFile(path.join(folder, 'docs/404.html'), 'no such page');
await writeFile(path.join(folder, 'assets/page-1a2b.js'), SCRIPT);
await writeFile(path.join(folder, 'assets/page-1a2b.js.br'), brotliCompressSync(SCRIPT));
const app = await createApp({
  ...plain.deps,
  site: async (scope) => {
    const origins = { media: ['https://media.example'], isSecure: true };
    const { db, log } = plain.deps;
    const publicUrl = () => 'https://video.example';
    const adminEmails = new Set(['you@localhost']);
    await scope.register(pageRoutes, {
      folder,
      origins,
      db,
      log,
      publicUrl,
      adminEmails,
      docsEditUrl: 'https://code.example/edit',
      brand: { current: () => brand, fixed: {} },
      showsTestPatterns: true,
      shares: plain.deps.shares,
    });
  },
  isPageRequest,
});
const siteUrl = await app.listen({ host: '127.0.0.1', port: 0 });

after(() => app.close());

/** What a browser asks for when an address is opened. */
function open(url: string, request: InjectOptions = {}) {
  return app.inject({ url, headers: { accept: 'text/html,*/*;q=0.8' }, ...request });
}

test('every page is index.html, which browsers revalidate each time', async () => {
  for (const url of PAGE_PATHS.map((known) => known.replace(/[:*].*$/, 'x'))) {
    const response = await open(url);
    assert.equal(response.statusCode, 200, url);
    assert.equal(response.body, INDEX);
    assert.equal(response.headers['cache-control'], 'no-cache');
    assert.match(response.headers['content-type'] ?? '', /^text\/html/);
  }
});

test('the content policy allows our own files, and videos of the named hosts only', async () => {
  const { headers } = await open('/');
  const policy = String(headers['content-security-policy']);
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "media-src 'self' blob: https://media.example",
    "frame-ancestors 'none'",
  ]) {
    assert.ok(policy.split('; ').includes(rule), `${rule} in ${policy}`);
  }
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(headers['strict-transport-security'], 'max-age=31536000');
  assert.equal(headers['x-content-type-options'], 'nosniff');
});

test('hashed files are cached for ever and sent compressed on request; others are revalidated', async () => {
  const small = await app.inject({
    url: '/assets/page-1a2b.js',
    headers: { 'accept-encoding': 'gzip, br' },
  });
  assert.equal(small.headers['content-encoding'], 'br');
  assert.equal(small.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.match(String(small.headers['content-type']), /javascript/);
  assert.match(String(small.headers.vary), /accept-encoding/i);
  const large = await app.inject({ url: '/assets/page-1a2b.js' });
  assert.equal(large.headers['content-encoding'], undefined);
  assert.equal(large.body, SCRIPT);
  for (const url of ['/favicon.svg', '/', '/docs/quickstart']) {
    const other = await app.inject({ url });
    assert.deepEqual([other.statusCode, other.headers['cache-control']], [200, 'no-cache']);
    const headers = { 'if-none-match': String(other.headers.etag) };
    const same = await app.inject({ url, headers });
    assert.deepEqual([same.statusCode, same.body], [304, ''], url);
  }
});

test('an unknown address in a browser gets the 404 page', async () => {
  const response = await open('/no/such/page');
  assert.equal(response.statusCode, 404);
  assert.equal(response.body, INDEX);
  assert.match(String(response.headers['content-security-policy']), /default-src 'none'/);
});

test('unknown paths of the API and of programs get the same error as without a website', async () => {
  const requests: InjectOptions[] = [
    { url: '/api/v1/nothing' },
    { url: '/api/v2/video/generations', headers: { accept: 'text/html' } },
    { url: '/console/api/nothing', headers: { accept: 'text/html' } },
    { url: '/assets/gone-1a2b.js', headers: { accept: '*/*' } },
    { url: '/no/such/page' },
    { url: '/no/such/page', method: 'POST', headers: { accept: 'text/html' } },
  ];
  for (const request of requests) {
    const [with_, without] = await Promise.all([app.inject(request), plain.app.inject(request)]);
    assert.equal(with_.statusCode, 404, `${request.method} ${request.url}`);
    assert.deepEqual(with_.json(), without.json());
    const shape = ({ headers }: typeof with_) => Object.keys(headers).sort();
    assert.deepEqual(shape(with_), shape(without));
  }
});

/** The status and the body for a path that is sent as it is: `inject` and `fetch` resolve dots. */
async function sendPath(path: string): Promise<{ status: number | undefined; body: string }> {
  const sent = request(siteUrl, { path, agent: false });
  const [response] = await once(sent.end(), 'response');
  return { status: response.statusCode, body: await text(response) };
}

test('no path leads out of the folder', async () => {
  const up = ['..', '%2e%2e', '%252e%252e', '..%00', '..;', '%c0%ae%c0%ae', '%u002e%u002e'];
  const between = ['/', '%2f', '%252f', '\\', '%5c', '%255c', '//', '/./'];
  const climbs = up.flatMap((dots) => between.map((slash) => `${dots}${slash}`));
  const paths = [
    ...climbs.flatMap((climb) => [`/${climb}secret.txt`, `/assets/${climb}${climb}secret.txt`]),
    `/assets/${secret}`,
    `/${secret}`,
    `/assets/%2f${secret}`,
    `file://${secret}`,
    '//secret.txt',
    '/assets/..',
    '/assets/',
    '/assets',
    '/.',
    '/%00',
    '/secret.txt%00.js',
    '/assets/page-1a2b.js%00.html',
    '/assets/page-1a2b.js%5c..%5c..%5csecret.txt',
    '/assets/page-1a2b.js/../../../secret.txt',
    '/assets/page-1a2b.js%2f..%2f..%2fsecret.txt',
  ];
  for (const path of paths) {
    const { status, body } = await sendPath(path);
    assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    assert.ok('error' in JSON.parse(body), path);
  }
  assert.equal((await sendPath('/assets/page-1a2b.js')).body, SCRIPT);
});

test('the routes of the server are those of the pages', async () => {
  const routes = new URL('../../../../console/src/routes.ts', import.meta.url);
  const text = await readFile(routes, 'utf8');
  const paths = [...text.matchAll(/path: '([^']+)'/g)].map(([, found = '']) => found);
  assert.deepEqual(paths.sort(), [...PAGE_PATHS].sort());
});

test('the documentation has the address of the installation, compressed or not', async () => {
  const plainPage = await app.inject('/docs/quickstart');
  assert.equal(
    plainPage.body,
    'docs/quickstart https://video.example/api/v1' +
      '<a href="https://code.example/edit/docs/a.md">Edit this page</a>',
  );
  assert.match(String(plainPage.headers['content-type']), /^text\/html/);
  assert.ok(plainPage.headers['content-security-policy']);
  const headers = { 'accept-encoding': 'gzip, br' };
  const packed = await app.inject({ url: '/docs/quickstart/?x=1', headers });
  assert.equal(packed.headers['content-encoding'], 'br');
  assert.equal(brotliDecompressSync(packed.rawPayload).toString(), plainPage.body);
  assert.equal((await app.inject('/docs/quickstart.md')).body, '# First');
  assert.equal((await app.inject('/docs')).headers.location, '/docs/quickstart');
});

test('no path below the documentation leads out of its folder, or to a 500', async () => {
  for (const url of [
    '/docs/none',
    '/docs/..%2fsecret.txt',
    '/docs/%2e%2e/%2e%2e/secret.txt',
    '/docs/quickstart/index.html',
    '/docs/quickstart%00',
    '/docs/OPERATIONS/overview',
    '/docs/operations%2foverview',
    '/docs//operations/overview', // or memory would keep a text for each number of slashes
    '/docs//quickstart',
    '/docs/quickstart//',
    `/docs/${'a'.repeat(300)}`,
    `/docs/${'a/'.repeat(3000)}a`,
  ]) {
    const { statusCode } = await app.inject(url);
    assert.equal(statusCode, 404, url);
  }
});

test('a browser gets the 404 page of the documentation for an unknown path', async () => {
  const headers = { accept: 'text/html,*/*' };
  for (const url of ['/docs/none', '/docs/none.md', '/docs/404.html', '/docs/quickstart//']) {
    const { statusCode, body, headers: sent } = await app.inject({ url, headers });
    assert.deepEqual([statusCode, body], [404, 'no such page'], url);
    assert.match(String(sent['content-type']), /^text\/html/);
  }
  assert.equal((await app.inject('/docs/none')).json().error.code, 'not_found');
});

test('the pages for operators are shown after a sign-in as operator', async () => {
  const refused = await app.inject('/docs/operations/overview');
  const redirect = [refused.statusCode, refused.headers.location];
  assert.deepEqual(redirect, [302, '/sign-in?next=%2Fdocs%2Foperations%2Foverview']);
  assert.equal((await app.inject('/docs/operations/overview.md')).statusCode, 302);
  assert.equal((await app.inject('/docs/operations/search.json')).statusCode, 302);
});

/** What a page knows of its brand. */
function brandIn(html: string) {
  const [, content = ''] = /<meta name="brand" content="([^"]*)" \/>/.exec(html) ?? [];
  const json = content.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>');
  return JSON.parse(json.replaceAll('&amp;', '&'));
}

test('a changed brand is in the next response, and a name is text wherever it is', async (t) => {
  t.after(() => (brand = DEFAULT_BRAND));
  const before = await app.inject('/docs/branded');
  assert.equal(brandIn(before.body).name, 'Framewright');
  assert.match(before.body, /<link rel="icon" href="\/favicon.svg"/);
  for (const name of [
    '</title><script>alert(1)</script>',
    '" onload="alert(1)',
    '<!-- links -->%brand%%accent%<!-- edit x -->',
    'a"%brand%',
    "$& $1 $' &amp;",
  ]) {
    brand = { name, color: '#1a6fd4', terms_url: 'https://example.com/terms' };
    const { body, headers } = await app.inject('/docs/branded');
    assert.notEqual(headers.etag, before.headers.etag);
    const applied = [brandIn(body).name, brandIn(body).tokens['--color-focus']];
    assert.deepEqual(applied, [name, '#1a6fd4']);
    const plain = body.replaceAll(/<\/?(title|meta|link|span|a)( [\w:]+="[^"]*")*( \/)?>/g, '');
    assert.doesNotMatch(plain, /[<>]/, name);
    assert.match(body, /<a href="https:\/\/example.com\/terms">Terms<\/a>/);
    const icon = (await app.inject('/favicon.svg')).body;
    assert.match(icon, /^<svg><title>[^<>]+<\/title>#1a6fd4<\/svg>$/);
    assert.equal((await app.inject('/llms.txt')).body, `# ${name}`);
  }
  const robots = await app.inject('/robots.txt');
  assert.equal(robots.body, 'Sitemap: https://video.example/docs/sitemap.xml');
});

test('a logo is served under an address of its own, with the type of its bytes', async (t) => {
  t.after(() => (brand = DEFAULT_BRAND));
  assert.equal((await open('/brand/logo')).statusCode, 404);
  const addresses = new Set<string>();
  for (const [width, height, isIcon] of [
    [64, 64, true],
    [200, 40, false],
  ] as const) {
    brand = { name: 'Ada & Co', logo: blackPng(width, height).toString('base64') };
    const { body } = await app.inject('/docs/branded');
    const { url, is_icon } = brandIn(body).logo;
    assert.deepEqual([is_icon, body.includes(`<link rel="icon" href="${url}"`)], [isIcon, isIcon]);
    assert.ok(body.includes(`alt="${isIcon ? '' : 'Ada &amp; Co'}"`), body);
    assert.ok(body.includes(`<meta property="og:image" content="https://video.example${url}"`));
    const file = await app.inject(url);
    assert.deepEqual(file.rawPayload, blackPng(width, height));
    assert.equal(file.headers['content-type'], 'image/png');
    assert.match(String(file.headers['cache-control']), /immutable/);
    assert.equal((await app.inject('/brand/logo?v=x')).headers['cache-control'], 'no-cache');
    addresses.add(url);
  }
  assert.equal(addresses.size, 2);
});
