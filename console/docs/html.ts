import { readFileSync } from 'node:fs';
import path from 'node:path';
import hljs from 'highlight.js/lib/common';
import type { Tokens } from 'marked';
import { escapeHtml } from './marks.ts';

export interface Heading {
  depth: number;
  text: string;
  id: string;
}

/** A heading with a link to itself; `words` is its HTML. */
export function headingHtml({ depth, text, id }: Heading, words: string): string {
  if (depth === 1) return `<h1 id="${id}">${words}</h1>`;
  const link = `<a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a>`;
  return `<h${depth} id="${id}">${words} ${link}</h${depth}>`;
}

/** A sample. Without a language it is the output of a command, whose columns must not wrap. */
export function sampleHtml(text: string, language: string): string {
  const code = hljs.getLanguage(language)
    ? hljs.highlight(text, { language }).value
    : escapeHtml(text);
  const look = /^(text)?$/.test(language) ? 'docs-code is-output' : 'docs-code';
  return `<div class="${look}"><pre tabindex="0"><code>${code}</code></pre></div>`;
}

/** Tabs of samples. All are in the page: without scripts they are shown one below the other. */
export function tabsHtml(samples: { name: string; html: string }[]): string {
  const panels = samples.map(({ name, html }) => {
    const title = name === 'all' ? '' : `<p class="docs-tab">${escapeHtml(name)}</p>`;
    return `<div data-tab="${escapeHtml(name)}">${title}${html}</div>`;
  });
  return `<div class="docs-tabs">${panels.join('')}</div>`;
}

/** How many characters of a row fit on a phone. */
const NARROW = 36;

export function tableHtml(
  { header, rows }: Tokens.Table,
  html: (cell: Tokens.TableCell) => string,
): string {
  const names = header.map((cell) => escapeHtml(cell.text.replaceAll('`', '')));
  const head = header.map((cell) => (cell.text === '' ? '<td></td>' : `<th>${html(cell)}</th>`));
  const body = rows.map((cells) => {
    const [first = '', ...rest] = cells.map(html);
    const isLong = (cells[0]?.text.length ?? 0) > NARROW;
    const others = rest.map((text, i) => labelled(text, names[i + 1])).join('');
    return `<tr><td${isLong ? ' class="is-long"' : ''}>${first}</td>${others}</tr>`;
  });
  const look = isWide([header, ...rows]) ? 'docs-table is-wide' : 'docs-table';
  return `<div class="${look}" role="group" aria-label="Table" tabindex="0"><table>
<thead><tr>${head.join('')}</tr></thead>
<tbody>${body.join('\n')}</tbody></table></div>`;
}

/** On a phone, each cell of a wide table is labelled with its column. */
function labelled(text: string, name = ''): string {
  if (text === '') return '<td></td>';
  return `<td${name && ` data-label="${name}"`}><span>${text}</span></td>`;
}

/** Whether its columns would be too narrow to read on a phone. */
function isWide(rows: Tokens.TableCell[][]): boolean {
  const columns = rows[0]?.map((_, i) => rows.map((cells) => cells[i]?.text ?? '')) ?? [];
  const needed = (texts: string[]) => {
    const words = texts.flatMap((text) => text.split(/[\s-]+/)).map(({ length }) => length);
    const longest = Math.max(...texts.map(({ length }) => length));
    return Math.max(...words, Math.min(longest, columns.length > 2 ? 20 : 0));
  };
  return columns.reduce((sum, texts) => sum + needed(texts), 0) > NARROW;
}

const ROOT = path.join(import.meta.dirname, '../..');

/** Inlines an SVG file without its own styles, so that it takes the theme's colours. */
export function pictureHtml(file: string, alt: string): string {
  const svg = readFileSync(path.join(ROOT, file), 'utf8')
    .replaceAll(/\s*<(style|title)>.*?<\/\1>/gs, '')
    .replace('role="img"', `role="img" aria-label="${escapeHtml(alt)}"`);
  return `<span class="docs-picture">${svg.trim()}</span>`;
}

/** A link that opens the playground prefilled with a request. */
export function tryItLink(body: unknown): string {
  const address = `/playground?request=${encodeURIComponent(JSON.stringify(body))}`;
  return `<p class="docs-try"><a href="${escapeHtml(address)}">Try it in the playground</a></p>`;
}

/** The create body sent by a curl command; undefined if it sends none. */
export function createBodyOf(command: string): unknown {
  const [, json] = /\/video\/generations\b.*?-d '(\{[^']*\})'/s.exec(command) ?? [];
  return json === undefined ? undefined : JSON.parse(json);
}
