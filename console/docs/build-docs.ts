import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Book, type Entry, entriesOf, GUIDES, OPERATIONS } from './contents.ts';
import { linkedMarkdown, renderMarkdown } from './markdown.ts';
import { DOCS_ORIGIN, escapeHtml, NAME_MARK } from './marks.ts';
import { readOpenApi } from './openapi.ts';
import { referenceOf } from './reference.ts';
import { addressOf, type DocsPage, pageBody, titleOf } from './template.ts';

const ROOT = path.join(import.meta.dirname, '../..');

/** The placeholder for the installation's origin in the packages' READMEs. */
const EXAMPLE_ORIGIN = 'https://video.example.com';

/**
 * Writes the docs beside the built pages: for each page its HTML (`PAGE/index.html`) and Markdown
 * (`PAGE.md`), the search index, and lists for programs, such as llms.txt. decisions/0026 says why
 * this is not a site of its own.
 * @param folder of the build; its `docs.html` is the frame of each page, and of shared videos
 */
export async function buildDocs(folder: string): Promise<void> {
  const html = await readFile(path.join(folder, 'docs.html'), 'utf8');
  const guides = { ...GUIDES, chapters: { ...GUIDES.chapters, ...reference.chapters } };
  for (const book of [guides, OPERATIONS]) {
    const pages = entriesOf(book).map((entry) => pageOf(book, entry));
    const framed = (page: DocsPage) => html.replace('<!-- page -->', () => pageBody(page, pages));
    for (const page of pages) await writePage(folder, page, framed(page));
    await writeFile(path.join(folder, book.path, 'search.json'), searchIndex(pages));
    if (book.path === GUIDES.path) {
      await writeLists(folder, pages);
      await writeFile(path.join(folder, 'docs/404.html'), framed(notFound(book)));
    }
  }
}

const reference = referenceOf(readOpenApi(path.join(ROOT, 'openapi.json')));

function notFound(book: Book): DocsPage {
  const title = 'There is no such page';
  const html = `<h1>${title}</h1>
<p>The address is wrong, or the page has another one now. The search and the contents find it.</p>`;
  const entry = { slug: '', file: '' };
  return { book, entry, title, html, headings: [], sections: [], source: '' };
}

function pageOf(book: Book, entry: Entry): DocsPage {
  const found = reference.pages.find((one) => one.entry === entry);
  if (found) return Object.assign({ book }, found);
  const written = readFileSync(path.join(ROOT, entry.file), 'utf8');
  const source = written.replaceAll(EXAMPLE_ORIGIN, DOCS_ORIGIN);
  const rendered = renderMarkdown(source, { file: entry.file, addressOf: pageAddress, nameOf });
  const markdown = linkedMarkdown(source, { file: entry.file, addressOf: markdownAddress });
  return Object.assign({ book, entry, source: markdown }, rendered);
}

function nameOf(file: string): string | undefined {
  const entry = [GUIDES, OPERATIONS].flatMap(entriesOf).find((one) => one.file === file);
  if (!entry) return undefined;
  const [, heading] = /^# (.*)$/m.exec(readFileSync(path.join(ROOT, file), 'utf8')) ?? [];
  return entry.short ?? heading;
}

function markdownAddress(file: string): string | undefined {
  const address = pageAddress(file);
  return address?.startsWith('/docs/') ? `${address}.md` : address;
}

function pageAddress(file: string): string | undefined {
  for (const book of [GUIDES, OPERATIONS]) {
    const entry = entriesOf(book).find((one) => one.file === file);
    if (entry) return addressOf(book, entry);
  }
  return file === 'openapi.json' ? '/openapi.json' : undefined;
}

async function writePage(folder: string, page: DocsPage, html: string): Promise<void> {
  const place = path.join(folder, addressOf(page.book, page.entry));
  await mkdir(place, { recursive: true });
  const title = titleOf(page);
  const shared = `<meta property="og:title" content="${escapeHtml(title)}" />`;
  const head = `<title>${title} · ${NAME_MARK}</title>${descriptionOf(page)}${shared}`;
  const document = html.replace(`<title>${NAME_MARK}</title>`, () => head);
  await writeFile(path.join(place, 'index.html'), document);
  await writeFile(`${place}.md`, page.source);
}

const MAX_DESCRIPTION = 155;

function descriptionOf({ title, sections }: DocsPage): string {
  const text = (sections.find((one) => one.text.trim() !== '')?.text ?? title).trim();
  const short = text.replaceAll(/\s+/g, ' ').slice(0, MAX_DESCRIPTION + 1);
  const whole = short.length > MAX_DESCRIPTION ? short.replace(/\s\S*$/, '…') : short;
  return `<meta name="description" content="${escapeHtml(whole)}" />`;
}

/** Rows of [address, page, heading, text]; a field of several operations appears once. */
function searchIndex(pages: DocsPage[]): string {
  const known = new Set<string>();
  const rows = pages.flatMap((page) =>
    (page.sections.length > 0 ? page.sections : [{ heading: page.title, id: '', text: '' }]).map(
      ({ heading, id, text }) => [
        `${addressOf(page.book, page.entry)}#${id}`,
        titleOf(page),
        heading,
        text.replaceAll(/\s+/g, ' ').trim(),
      ],
    ),
  );
  const isNew = ([, , heading, text]: string[]) => {
    const both = `${heading} ${text}`;
    return text === '' || (!known.has(both) && known.add(both));
  };
  return JSON.stringify(rows.filter(isNew));
}

async function writeLists(folder: string, pages: DocsPage[]): Promise<void> {
  const urlOf = ({ book, entry }: DocsPage) => `${DOCS_ORIGIN}${addressOf(book, entry)}`;
  const lines = pages.map((page) => `- [${titleOf(page)}](${urlOf(page)}.md)`);
  const head = `# ${NAME_MARK}\n\n> A video-generation API with prepaid credits.\n\n`;
  const api = `- [OpenAPI](${DOCS_ORIGIN}/openapi.json): each operation and field\n`;
  await writeFile(path.join(folder, 'llms.txt'), `${head}${lines.join('\n')}\n${api}`);
  const texts = pages.map(({ source }) => source).join('\n\n');
  await writeFile(path.join(folder, 'llms-full.txt'), texts);
  const all = [`${DOCS_ORIGIN}/`, `${DOCS_ORIGIN}/pricing`, ...pages.map(urlOf)];
  const urls = all.map((url) => `<url><loc>${url}</loc></url>`);
  const sitemap = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>
`;
  await writeFile(path.join(folder, 'docs', 'sitemap.xml'), sitemap);
}
