import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import MiniSearch from 'minisearch';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { buildPages } from '../build.ts';
import { openFinder } from '../src/docs/find.ts';
import { entriesOf, filesOf, GUIDES, OPERATIONS } from './contents.ts';
import { renderMarkdown } from './markdown.ts';
import { copyDocs } from './standalone.ts';

const ROOT = path.join(import.meta.dirname, '../..');

const folder = await buildPages();
const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
/** The HTML of each page, by its address. */
const pages = new Map(
  globSync('docs/**/index.html', { cwd: folder }).map((file) => {
    return [`/${path.dirname(file)}`, read(file)];
  }),
);

const idsOf = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);

/** What pages of the documentation may lead to besides each other. */
const ELSEWHERE = /^\/(keys|playground|webhooks|status|openapi\.json|docs(\/operations)?)?$/;

test('every link leads to a page, and to a place of it', () => {
  assert.ok(pages.size > 40);
  for (const [address, html] of pages) {
    for (const [, href = ''] of html.slice(html.indexOf('<body')).matchAll(/ href="([^"]*)"/g)) {
      if (/^https?:/.test(href) || /^\/(assets|favicon)/.test(href) || href.endsWith('.md'))
        continue;
      const [page = '', anchor] = href.replace(/\?.*/, '').split('#');
      if (ELSEWHERE.test(page)) continue;
      const target = page === '' ? html : pages.get(page);
      assert.ok(target !== undefined, `${address} links to ${href}`);
      if (anchor) assert.ok(idsOf(target).includes(anchor), `${address} links to ${href}`);
    }
  }
});

test('what openapi.json names is a page, and a place of it', () => {
  const text = readFileSync(path.join(ROOT, 'openapi.json'), 'utf8');
  assert.doesNotMatch(text, /docs\/\w+\.md/, 'a customer has pages, not files');
  const named = [...text.matchAll(/(\/docs\/[\w-]+)#?([\w-]*)/g)];
  assert.ok(named.length > 0);
  for (const [, page = '', place = ''] of named) {
    const html = pages.get(page) ?? assert.fail(`openapi.json names ${page}`);
    assert.ok(place === '' || idsOf(html).includes(place), `openapi.json names ${page}#${place}`);
  }
});

test('each page uses an id once, is described for search engines, and inlines nothing', () => {
  for (const [address, html] of pages) {
    const ids = idsOf(html);
    assert.equal(new Set(ids).size, ids.length, address);
    assert.match(html, /<title>[^<]+ · %brand%<\/title>/, address);
    assert.match(html, /<meta name="description" content="[^"]{15,}" \/>/, address);
    assert.doesNotMatch(html, /<script>|<style| style=/, address);
  }
});

test('every guide, every page for operators and every operation is in the contents', () => {
  for (const [pattern, book] of [
    ['docs/customers/*.md', GUIDES],
    ['clients/*/README.md', GUIDES],
    ['docs/operators/*.md', OPERATIONS],
  ] as const) {
    const files = globSync(pattern, { cwd: ROOT });
    assert.ok(files.length > 1);
    for (const file of files) assert.ok(filesOf(book).includes(file), file);
  }
  const { paths } = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8'));
  for (const item of Object.values<Record<string, { operationId: string }>>(paths)) {
    for (const { operationId } of Object.values(item)) {
      assert.ok(pages.has(`/docs/reference/${operationId}`), operationId);
    }
  }
});

test('a page has its Markdown beside it, and is in the lists for programs', () => {
  const guides = entriesOf(GUIDES);
  for (const { slug, file } of guides) {
    const [heading = ''] = readFileSync(path.join(ROOT, file), 'utf8').split('\n');
    const markdown = read(`docs/${slug}.md`);
    assert.ok(markdown.startsWith(heading), slug);
    assert.doesNotMatch(markdown, /<!--/);
    for (const [, page = '', place] of markdown.matchAll(
      /\]\((?!https?:|#)([^)#]+)(?:#([^)]+))?/g,
    )) {
      if (page === '/openapi.json') continue;
      assert.ok(existsSync(path.join(folder, page)), `${slug}: ${page}`);
      const target = pages.get(page.replace(/\.md$/, '')) ?? '';
      assert.ok(!place || idsOf(target).includes(place), `${slug}: ${page}#${place}`);
    }
    assert.match(read('llms.txt'), new RegExp(`/docs/${slug}\\.md\\)`));
    assert.match(read('docs/sitemap.xml'), new RegExp(`/docs/${slug}</loc>`));
  }
  for (const address of pages.keys()) {
    if (existsSync(path.join(folder, `${address}.md`))) continue;
    assert.fail(`${address} has no Markdown`);
  }
  const listed = `${read('llms.txt')}${read('docs/sitemap.xml')}`.matchAll(
    /http:\/\/127\.0\.0\.1:8080(\/docs[^)<]*)/g,
  );
  for (const [, address = ''] of listed) {
    const file = address.endsWith('.md') ? address : `${address}/index.html`;
    assert.ok(existsSync(path.join(folder, file)), address);
  }
  assert.match(read('docs/reference/createVideo.md'), /"name": "generate_video"/);
  assert.doesNotMatch(read('docs/sitemap.xml') + read('llms.txt'), /operations/);
  assert.match(read('llms-full.txt'), /# Paying exactly once/);
});

/** What readers ask, and a place that must be among the first three results. */
const QUERIES = [
  ['seed', '/reference/createVideo#row-seed'],
  ['pricing', '/prices#prices-and-quotes'],
  ['what does a video cost', '/prices#prices-and-quotes'],
  ['node.js', '/typescript#framewrightclient-videos-from-typescript'],
  ['pip', '/python#framewright_client-videos-from-python'],
  ['concurrent', '/limits#the-rate-limit'],
  ['429', '/errors#row-rate_limited'],
  ['401', '/errors#row-unauthorized'],
  ['test-insufficient-credits', '/test-keys#row-test-insufficient-credits'],
  ['how long are videos kept', '/waiting#keep-the-video'],
  ['idempotency', '/paying-once#paying-exactly-once'],
  [
    'refund',
    '/reference/cancelTask#cancel-a-task-its-credits-are-refunded-if-no-video-will-be-made',
  ],
  ['aspect ratio', '/reference/createVideo#row-aspect_ratio'],
  ['sound', '/reference/createVideo#row-generate_audio'],
  ['verify signature', '/webhooks#verify-a-signature'],
  ['webhok', '/webhooks#webhooks'],
  ['polling', '/waiting#waiting-for-a-video'],
];

test('the search finds what readers ask for, and every result is a place', () => {
  const rows = JSON.parse(read('docs/search.json'));
  const find = openFinder(MiniSearch, rows);
  const wrong = QUERIES.flatMap(([query = '', place]) => {
    const [first, second, third] = find(query).map(({ id }) => id.replace('/docs', ''));
    const found = [first, second, third];
    return found.includes(place) ? [] : [`${query}: ${found.join(', ')}`];
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(find('how are the'), []);
  for (const [address = ''] of rows) {
    const [page = '', place = ''] = address.split('#');
    assert.ok(idsOf(pages.get(page) ?? '').includes(place), address);
  }
});

test('the documentation alone leads to the installation, and has no page for operators', async () => {
  await using out = await temporaryFolder();
  await copyDocs(folder, out.path, 'https://video.example.com');
  const read = (name: string) => readFileSync(path.join(out.path, name), 'utf8');
  const page = read('docs/quickstart/index.html');
  assert.match(page, /FRAMEWRIGHT_BASE_URL=https:\/\/video\.example\.com\/api\/v1/);
  assert.match(page, /href="https:\/\/video\.example\.com\/playground\?request=/);
  for (const [, href = ''] of page.matchAll(/ (?:href|src)="(\/[^"#]*)/g)) {
    assert.ok(existsSync(path.join(out.path, href)), href);
  }
  assert.match(read('docs/index.html'), /url=\/docs\/quickstart\//);
  assert.ok(!existsSync(path.join(out.path, 'docs/operations')));
});

const RENDERED = [
  [
    'samples of one thing become tabs, and each is readable without a script',
    '```sh tab=curl\na\n```\n\n```ts tab=TypeScript\nb\n```\n\ntext',
    /^(?!.*docs-tabs.*docs-tabs).*"docs-tabs"(.*"docs-tab"){2}(?!.*"docs-tab")/s,
  ],
  [
    'a link to a file that is no page shows its words only',
    '[the code](../server/src/x.ts) [a page](y.md#part)',
    /^<p>the code <a href="\/docs\/y#part">a page<\/a><\/p>$/,
  ],
  [
    'a link that is named after its file shows the name of the page',
    '[y.md](y.md#part)',
    /^<p><a href="\/docs\/y#part">All of Y<\/a><\/p>$/,
  ],
  [
    'a heading has the id that it has on GitHub',
    '# What the `id` is, exactly?',
    /^<h1 id="what-the-id-is-exactly">/,
  ],
  [
    'HTML in code is shown, not run',
    '# <b>\n\n```\n<script>\n```\n\n`<img>`',
    /^(?!.*(<script>|<img>)).*&lt;script&gt;/s,
  ],
] as const;

for (const [title, markdown, expected] of RENDERED) {
  test(title, () => {
    const of = (text: string) => (file: string) => (file === 'docs/y.md' ? text : undefined);
    const options = { file: 'docs/x.md', addressOf: of('/docs/y'), nameOf: of('All of Y') };
    assert.match(renderMarkdown(markdown, options).html.trim(), expected);
  });
}
