import path from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import {
  createBodyOf,
  escapeHtml,
  headingHtml,
  pictureHtml,
  sampleHtml,
  tableHtml,
  tabsHtml,
  tryItLink,
} from './html.ts';

/** A heading of a page, and the address of its section within the page. */
export interface Heading {
  depth: number;
  text: string;
  id: string;
}

/** The plain text below a heading, for the search. */
export interface Section {
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
  /** The file, relative to the root of the repository. */
  file: string;
  /** The address that a link to a file leads to; undefined: the words are shown without a link. */
  addressOf(file: string): string | undefined;
  /** What the contents call the page of a file; a link named after the file shows it. */
  nameOf?(file: string): string | undefined;
}

/** Several samples of the same thing, one of which is shown. */
interface TabsToken {
  type: 'tabs';
  raw: string;
  samples: Tokens.Code[];
}

/** The part of an address that leads to a heading, as GitHub makes it. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** Renders a Markdown file. Samples in a row that are marked `tab=NAME` become tabs. */
export function renderMarkdown(source: string, options: Options): Rendered {
  const { file, addressOf } = options;
  const marked = new Marked();
  const tokens = marked.lexer(source.replaceAll(COMMENTS, ''));
  const headings = numbered(tokens.filter((token) => token.type === 'heading'));
  const keyed = tokens.find(({ type, raw }) => type === 'code' && raw.includes(TEST_KEY));
  const show: Show = (code) => sample(code) + (code === keyed ? PLACE_FOR_KEY : '');
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

/** The Markdown with addresses in its links. A link to a file that is no page becomes its words. */
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

/** Each row that begins with a name in code gets an id, so that links and the search lead to it. */
function withRowIds(html: string): string {
  const taken = new Set<string>();
  return html.replaceAll(/<tr>(?=\s*<td[^>]*><code>([\w-]+)<\/code>)/g, (row, name: string) => {
    if (taken.has(name)) return row;
    taken.add(name);
    return `<tr id="row-${name}">`;
  });
}

/** The headings with an id each; a text that comes again gets a number. */
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

/** In the repository, a link is often named after its file. */
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

/** The tokens, with each run of marked samples in one token. */
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

/** The name of the tab of a sample, as its first line says: ```` ```sh tab=curl ````. */
function tabOf({ lang = '' }: Pick<Tokens.Code, 'lang'>): string | undefined {
  return /\btab=(\S+)/.exec(lang)?.[1];
}

type Show = (code: Tokens.Code) => string;

/** What stands for the reader's own test key in samples. */
const TEST_KEY = 'fw_test_...';
/** Where a script puts the button that makes a key (test-key.ts). */
const PLACE_FOR_KEY = '<div class="docs-key"></div>';

function sample({ text, lang = '' }: Pick<Tokens.Code, 'text' | 'lang'>): string {
  const [language = ''] = lang.split(' ');
  return sampleHtml(text, language);
}

function tabs(samples: Tokens.Code[], show: Show): string {
  const html = tabsHtml(samples.map((code) => ({ name: tabOf(code) ?? '', html: show(code) })));
  const bodies = samples.map(({ text }) => createBodyOf(text));
  const body = bodies.find((one) => one !== undefined);
  return body === undefined ? html : html + tryItLink(body);
}

/** A section for each heading, and one for each row that has an id. */
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

/** @param named gets the rows that begin with a name in code; their text is not in the result */
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
