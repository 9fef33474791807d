import type { Book, Entry } from './contents.ts';
import type { Heading } from './html.ts';
import type { Rendered } from './markdown.ts';
import { escapeHtml } from './marks.ts';

export interface DocsPage extends Rendered {
  book: Book;
  entry: Entry;
  source: string;
}

export function addressOf(book: Book, { slug }: Entry): string {
  return `${book.path}/${slug}`;
}

export function titleOf({ entry, title }: Pick<DocsPage, 'entry' | 'title'>): string {
  return entry.short ?? title;
}

export function pageBody(page: DocsPage, pages: DocsPage[]): string {
  const at = pages.indexOf(page);
  return `
<a href="#main" class="docs-skip">Skip to the content</a>
<header class="docs-header">
  <div>
    <a class="docs-brand" href="/"><!-- logo --></a>
    <a href="${page.book.path}">${escapeHtml(page.book.title)}</a>
    <span class="docs-grow"></span>
    <div id="docs-search"></div>
    <a href="/keys">API keys</a>
    <a href="/playground">Playground</a>
  </div>
  <div class="ruler"></div>
</header>
<div class="docs-columns">
  <details class="docs-contents" open>
    <summary>All pages</summary>
    <nav aria-label="${escapeHtml(page.book.title)}">${contents(page, pages)}</nav>
  </details>
  <main id="main" tabindex="-1">
    <article class="docs-text">${page.html}</article>
    ${neighbours(pages[at - 1], pages[at + 1])}
    ${footer(page)}
  </main>
  ${onThisPage(page.headings)}
</div>`;
}

function contents(current: DocsPage, pages: DocsPage[]): string {
  const chapters = Object.entries(current.book.chapters).map(([title, entries]) => {
    const links = pages
      .filter(({ entry }) => entries.includes(entry))
      .map((page) => {
        const isCurrent = page === current ? ' aria-current="page"' : '';
        const name = escapeHtml(titleOf(page));
        return `<li><a href="${addressOf(page.book, page.entry)}"${isCurrent}>${name}</a></li>`;
      });
    return `<h2>${escapeHtml(title)}</h2><ul>${links.join('')}</ul>`;
  });
  return chapters.join('');
}

function onThisPage(headings: Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return '';
  const links = shown.map(
    ({ depth, id, text }) =>
      `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="docs-headings" aria-label="On this page">
    <h2>On this page</h2><ul>${links.join('')}</ul>
  </nav>`;
}

function neighbours(previous: DocsPage | undefined, next: DocsPage | undefined): string {
  const link = (page: DocsPage | undefined, word: string) => {
    if (!page) return '<span></span>';
    const name = escapeHtml(titleOf(page));
    return `<a href="${addressOf(page.book, page.entry)}"><small>${word}</small>${name}</a>`;
  };
  return `<nav class="docs-neighbours" aria-label="Previous and next page">
    ${link(previous, 'Previous')}${link(next, 'Next')}
  </nav>`;
}

/** The comments are marks (marks.ts): links of the brand, and to the source (DOCS_EDIT_URL). */
function footer({ book, entry }: DocsPage): string {
  if (entry.slug === '') return '';
  const markdown = `<a href="${addressOf(book, entry)}.md">This page as Markdown</a>`;
  const status = '<a href="/status">Status</a>';
  return `<footer class="docs-footer">${markdown}${status}<!-- links --><!-- edit ${entry.file} --></footer>`;
}
