import type MiniSearch from 'minisearch';

/** A searchable section, field or row, as the build writes it into search.json. */
export type Row = [address: string, page: string, heading: string, text: string];

export interface Found {
  id: string;
  page: string;
  heading: string;
}

const STOP_WORDS = new Set(
  `a an and any are as at be been but by can could did do does for from get had has have how i if in
  into is it its long make many may me much my of on one or our should so than that the their them
  then there they this to use used using was we what when where which who why will with would you
  your`.split(/\s+/),
);

/** A line has a word of the docs, or several joined by `_`, then the readers' words for it. */
const SYNONYM_LINES = `
aspect_ratio portrait landscape square vertical horizontal orientation
cancel abort stop interrupt
changes changelog release releases
cli terminal shell console
curl bash http
delete remove erase
error failed failure exception problem
file image images photo picture pictures jpeg png
generate_audio sound music voice mute silent
generation create make produce render
keep_retention kept retain stored storage expire expires expiry
key token apikey auth authentication authorization bearer login credential credentials secret
limit limits concurrent concurrency parallel simultaneous throttle throttling quota
link url download
mcp agent agents llm claude cursor copilot
paying_once idempotency duplicate duplicates twice double
price prices pricing cost costs charge charged fee money cheap expensive bill billing
python pip py
rate 429 throttle throttling quota requests
refund refunded refunds reimburse
resolution size 480p 720p 1080p 4k hd quality
retry retries again
signature hmac verify signing
task list job jobs
test sandbox mock dummy trial free ci
typescript javascript nodejs node js ts npm
unauthorized 401
wait poll polling progress status
webhook callback callbacks notification notifications notify`;

const SYNONYMS = parseSynonyms();

function parseSynonyms(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of SYNONYM_LINES.trim().split('\n')) {
    const [word = '', ...others] = line.split(' ');
    for (const other of others) {
      found.set(stem(other), [...(found.get(stem(other)) ?? []), ...word.split('_')]);
    }
  }
  return found;
}

/** A crude stemmer: `price`, `prices`, `priced` and `pricing` become `pric`. */
function stem(word: string): string {
  return word.replace(/^(.{3,}?)(?:ing|ed|es|s|e)$/, '$1').replace(/([^aeiou])\1$/, '$1');
}

function termOf(word: string): string | null {
  const lower = word.toLowerCase();
  return STOP_WORDS.has(lower) ? null : stem(lower);
}

const WORDS = /[\n\r\p{Z}\p{P}]+/u;
const wordsOf = (text: string) => text.split(WORDS).filter(Boolean);

const MAX_RESULTS = 8;

/**
 * Finds the sections with any of a query's words, the last of which may be a prefix. Sections with
 * more of them, or with some in headings, rank higher.
 */
export function openFinder(Search: typeof MiniSearch, rows: Row[]): (query: string) => Found[] {
  const index = new Search({
    fields: ['heading', 'page', 'text'],
    storeFields: ['page', 'heading'],
    processTerm: termOf,
  });
  index.addAll(rows.map(([id, page, heading, text]) => ({ id, page, heading, text })));
  return (query) => {
    const words = wordsOf(query);
    const asked = [...new Set(words.flatMap((word) => termOf(word) ?? []))];
    const others = asked.flatMap((term) => SYNONYMS.get(term) ?? []);
    const terms = [...new Set([...asked, ...others.map(stem)])];
    const found = index.search(terms.join(' '), {
      processTerm: (term) => term,
      boost: { heading: 4, page: 2 },
      boostTerm: (_, at) => (at < asked.length ? 1 : 0.6),
      prefix: (term, at) => at === asked.length - 1 && term.length > 1,
      fuzzy: (term) => (term.length > 5 ? 1 : false),
      weights: { prefix: 0.4, fuzzy: 0.1 },
    });
    return found.slice(0, MAX_RESULTS).map(({ id, page, heading }) => ({ id, page, heading }));
  };
}
