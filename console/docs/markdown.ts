import path from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import {
  createBodyOf,
  type Heading,
  headingHtml,
  pictureHtml,
  sampleHtml,
  tableHtml,
  tabsHtml,
  tryItLink,
} from './html.ts';
import { escapeHtml } from './marks.ts';

interface Section {
  heading: string;
  id: string;
  text: string;
}

export interface Rendered {
  title: string;
  html: string;
  headings: Heading[];
  sections: Section[];
}

interface Options {
  /** The file, relative to the repository root. */
  file: string;
  /** The URL for a link to a file; undefined: only its words are shown. */
  addressOf(file: string): string | undefined;
  /** The short title of a file's page; shown by links named after the file. */
  nameOf?(file: string): string | undefined;
}

interface TabsToken {
  type: 'tabs';
  raw: string;
  samples: Tokens.Code[];
}

/** The fragment for a heading, as on GitHub. */
function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** Renders a Markdown file. Consecutive samples marked `tab=NAME` become tabs. */
export function renderMarkdown(source: string, options: Options): Rendered {
  const { file, addressOf } = options;
  const marked = new Marked();
  const tokens = marked.lexer(source.replaceAll(COMMENTS, ''));
  const headings = numbered(tokens.filter((token) => token.type === 'heading'));
  const keyed = tokens.find(({ type, raw }) => type === 'code' && raw.includes(TEST_KEY));
  const show: Show = (code) => {
    const [language = ''] = (code.lang ?? '').split(' ');
    return sampleHtml(code.text, language) + (code === keyed ? PLACE_FOR_KEY : '');
  };
  let next = 0;
  marked.use({
    extensions: [{ name: 'tabs', renderer: (token) => tabs((token as TabsToken).samples, show) }],
    renderer: {
      heading({ tokens: words }) {
        const heading = headings[next++];
        return heading ? headingHtml(heading, this.parser.parseInline(words)) : '';
      },
      link({ href, tokens: words }) {
        const name = pageNameOf(plainText(words), href, options);
        const shown = name === undefined ? this.parser.parseInline(words) : escapeHtml(name);
        const address = linkAddress(href, file, addressOf);
        return address === undefined ? shown : `<a href="${escapeHtml(address)}">${shown}</a>`;
      },
      code: show,
      table(token) {
        return tableHtml(token, (cell) => this.parser.parseInline(cell.tokens));
      },
      checkbox: () => '<span class="docs-box"></span>',
      image: ({ href, text }) => pictureHtml(path.posix.join(path.posix.dirname(file), href), text),
    },
  });
  const html = marked.parser(withTabs(tokens) as Token[]);
  return {
    title: headings[0]?.text ?? file,
    html: withRowIds(html),
    headings,
    sections: sectionsOf(tokens, headings),
  };
}

const COMMENTS = /<!--.*?-->\n?/gs;

/** Markdown with URLs in its links. A link to a file without a page becomes its words. */
export function linkedMarkdown(source: string, { file, addressOf }: Options): string {
  const samplesAndLinks = /^```.*?^```|(!?)\[([^\]]*)\]\(([^)\s]+)\)/gms;
  return source
    .replaceAll(COMMENTS, '')
    .replaceAll(samplesAndLinks, (all: string, mark?: string, words?: string, href?: string) => {
      if (words === undefined || href === undefined) return all;
      if (mark === '!') return `(Picture: ${words})`;
      const address = linkAddress(href, file, addressOf);
      return address === undefined ? words : `[${words}](${address})`;
    });
}

/** Gives each row that begins with a name in code an id, for links and the search. */
function withRowIds(html: string): string {
  const taken = new Set<string>();
  return html.replaceAll(/<tr>(?=\s*<td[^>]*><code>([\w-]+)<\/code>)/g, (row, name: string) => {
    if (taken.has(name)) return row;
    taken.add(name);
    return `<tr id="row-${name}">`;
  });
}

/** The headings, each with an id; repeated texts are numbered. */
function numbered(tokens: Token[]): Heading[] {
  const counts = new Map<string, number>();
  return tokens.map((token) => {
    const { depth, tokens: words } = token as Tokens.Heading;
    const text = plainText(words);
    const id = headingId(text);
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return { depth, text, id: count === 0 ? id : `${id}-${count}` };
  });
}

function plainText(tokens: Token[] = []): string {
  return tokens
    .map((token) => {
      if ('tokens' in token && token.tokens) return plainText(token.tokens);
      return 'text' in token ? String(token.text) : '';
    })
    .join('');
}

/** The page's name, for a link whose words are only the name of its file. */
function pageNameOf(words: string, href: string, { file, nameOf }: Options): string | undefined {
  if (!/^[\w-]+\.md$/.test(words)) return undefined;
  const [target = ''] = href.split('#');
  return nameOf?.(path.posix.join(path.posix.dirname(file), target));
}

function linkAddress(href: string, file: string, addressOf: Options['addressOf']) {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const address = addressOf(path.posix.join(path.posix.dirname(file), target));
  if (address === undefined || anchor === undefined) return address;
  return `${address}#${anchor}`;
}

function withTabs(tokens: Token[]): (Token | TabsToken)[] {
  const result: (Token | TabsToken)[] = [];
  for (const token of tokens) {
    const last = result.at(-1);
    const isSample = token.type === 'code' && tabOf(token as Tokens.Code) !== undefined;
    if (isSample && last?.type === 'tabs') (last as TabsToken).samples.push(token as Tokens.Code);
    else if (isSample) result.push({ type: 'tabs', raw: '', samples: [token as Tokens.Code] });
    else if (!(token.type === 'space' && last?.type === 'tabs')) result.push(token);
  }
  return result;
}

/** A sample's tab name, from its first line: ```` ```sh tab=curl ````. */
function tabOf({ lang = '' }: Pick<Tokens.Code, 'lang'>): string | undefined {
  return /\btab=(\S+)/.exec(lang)?.[1];
}

type Show = (code: Tokens.Code) => string;

/** The placeholder for the reader's own test key in samples. */
const TEST_KEY = 'fw_test_...';
/** Where a script adds the button that creates a key (test-key.ts). */
const PLACE_FOR_KEY = '<div class="docs-key"></div>';

function tabs(samples: Tokens.Code[], show: Show): string {
  const html = tabsHtml(samples.map((code) => ({ name: tabOf(code) ?? '', html: show(code) })));
  const bodies = samples.map(({ text }) => createBodyOf(text));
  const body = bodies.find((one) => one !== undefined);
  return body === undefined ? html : html + tryItLink(body);
}

function sectionsOf(tokens: Token[], headings: Heading[]): Section[] {
  const sections: Section[] = [];
  const rows = new Map<string, Section>();
  let next = 0;
  for (const token of tokens) {
    const heading = token.type === 'heading' ? headings[next++] : undefined;
    if (heading) sections.push({ heading: heading.text, id: heading.id, text: '' });
    const section = sections.at(-1);
    if (!heading && section) section.text += `${textOf(token, rows)} `;
  }
  return [...sections, ...rows.values()];
}

/** @param named receives the rows that begin with a name in code, instead of the result */
function textOf(token: Token, named: Map<string, Section>): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    const texts = [header, ...rows].map((row) => {
      const [first, ...rest] = row;
      const text = rest.map((cell) => plainText(cell.tokens)).join(' ');
      const [, name] = /^`([\w-]+)`$/.exec(first?.text ?? '') ?? [];
      if (row === header || name === undefined || named.has(name))
        return `${plainText(first?.tokens)} ${text}`;
      named.set(name, { heading: name, id: `row-${name}`, text });
      return '';
    });
    return texts.join(' ');
  }
  if (token.type === 'list')
    return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
  if (token.type === 'code') return '';
  return 'tokens' in token && token.tokens ? plainText(token.tokens) : '';
}
