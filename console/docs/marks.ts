// What differs between installations is a mark in the built texts: the service fills it in when it
// sends them, and a copy of the docs when it is made.

/** The origin as written in the docs. */
export const DOCS_ORIGIN = 'http://127.0.0.1:8080';
export const NAME_MARK = '%brand%';

export interface Filling {
  origin: string;
  name: string;
  /** The accent colour of the icon. */
  accent: string;
  /** HTML for the head. */
  head: string;
  /** HTML of the link to the first page. */
  logo: string;
  /** HTML of links in the footer. */
  links: string;
  /** HTML of the link to a file's source. */
  editLink(file: string): string;
}

const NAME = 'Framewright';

export const UNBRANDED: Filling = {
  origin: DOCS_ORIGIN,
  name: NAME,
  accent: '#ffb52b',
  head: '<link rel="icon" href="/favicon.svg" type="image/svg+xml" />',
  logo: NAME,
  links: '',
  editLink: () => '',
};

const MARKS = new RegExp(`${RegExp.escape(DOCS_ORIGIN)}|%\\w+%|<!-- (?:edit (\\S+)|\\w+) -->`, 'g');

/** In one pass, so that nothing in a filling is taken for a mark. */
export function fill(text: string, file: string, filling: Filling): string {
  const isMarkup = /\.(html|svg)$/.test(file);
  const marks = new Map([
    [DOCS_ORIGIN, filling.origin],
    [NAME_MARK, isMarkup ? escapeHtml(filling.name) : filling.name],
    ['%accent%', filling.accent],
    ['<!-- brand -->', filling.head],
    ['<!-- logo -->', filling.logo],
    ['<!-- links -->', filling.links],
  ]);
  return text.replaceAll(MARKS, (mark, source?: string) =>
    source === undefined ? (marks.get(mark) ?? mark) : filling.editLink(source),
  );
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (found) => ENTITIES[found] ?? found);
}
