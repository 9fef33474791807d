import { readFile, writeFile } from 'node:fs/promises';
import { REQUESTS_PER_WINDOW, WINDOW_SECONDS } from './accounts/key-gate.ts';
import { BUILT_IN } from './catalog/catalog.ts';
import * as limits from './catalog/limits.ts';
import { RESOLUTIONS } from './catalog/models.ts';
import { ratesAt } from './catalog/price.ts';
import { METRICS } from './http/operations/metric-list.ts';
import { MAX_WAIT_SECONDS } from './http/public/get-task.ts';
import { PIXEL_BOUNDS } from './media/measure.ts';
import { verbsOfAllNouns } from './operator/verbs/list.ts';
import { FIELD_TABLES } from './providers/registry.ts';
import { BODY_BYTES } from './requests/bodies.ts';
import { KEY_SHAPE } from './requests/create-flow.ts';
import { MAX_UPLOAD_BYTES } from './requests/receive-upload.ts';
import { MAX_ENDPOINTS } from './webhooks/endpoints.ts';

// Writes the tables in pages of docs/: `npm run docs`.

const MEGABYTE = 2 ** 20;

type Row = (string | number)[];

function table(head: Row, rows: Row[]): string {
  const line = (row: Row) => `| ${row.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function prices(kind: 'standard' | 'referenced'): string {
  const head = ['Credits per second', ...RESOLUTIONS];
  const rows = Object.entries(ratesAt(BUILT_IN, new Date(0))[kind]).map(([model, rates]) => [
    `\`${model}\``,
    ...RESOLUTIONS.map((resolution) => rates[resolution] ?? '–'),
  ]);
  return table(head, rows);
}

const range = ({ min, max }: { min: number; max: number }) => `${min} to ${max}`;

function limitRows(): Row[] {
  const { PROMPT_CHARACTERS, DURATION_SECONDS, REFERENCE_SECONDS, SHORT_SIDE } = limits;
  const keyLength = range({ min: KEY_SHAPE.minLength, max: KEY_SHAPE.maxLength });
  return [
    ['JSON body of a request', `${BODY_BYTES / 1024} KiB`],
    ['Requests of an API key', `${REQUESTS_PER_WINDOW} in any ${WINDOW_SECONDS} seconds`],
    [
      '`Idempotency-Key`',
      `${keyLength} of the characters a-z, A-Z, 0-9, \`.\`, \`_\`, \`:\`, \`-\``,
    ],
    ['`prompt`', `${range(PROMPT_CHARACTERS)} characters`],
    ['`duration`', `${range(DURATION_SECONDS)} whole seconds`],
    ['Each address', `${limits.URL_CHARACTERS} characters`],
    ['All files of a request together', `${limits.INPUT_BYTES / MEGABYTE} MB`],
    ['Reference pictures', `at most ${limits.REFERENCE_IMAGES}`],
    ['Pixels of a picture', `${PIXEL_BOUNDS.imagePixels.toLocaleString('en')}`],
    ['Reference videos', `at most ${limits.REFERENCE_VIDEOS}`],
    ['Length of a reference video', `${range(REFERENCE_SECONDS)} seconds`],
    ['All reference videos together', `${limits.TOTAL_REFERENCE_SECONDS} seconds`],
    ['Shorter side of a reference video', `${range(SHORT_SIDE)} pixels`],
    ['An upload', `${MAX_UPLOAD_BYTES / MEGABYTE} MB`],
    ['Webhook endpoints of an account', MAX_ENDPOINTS],
    ['`Prefer: wait`', `1 to ${MAX_WAIT_SECONDS} seconds`],
  ];
}

type ShownFields = (typeof FIELD_TABLES)[number]['fields'];

/** How each request field is sent to a provider; one sentence lists those with unchanged names. */
function fieldsTable({ table: fields, shown = (name) => name }: ShownFields): string {
  const sent = Object.entries(fields).map(([field, mapping]) => {
    if ('notSent' in mapping) return [`\`${field}\``, `**not sent**: ${mapping.notSent}`] as const;
    if ('by' in mapping) return [`\`${field}\``, mapping.by] as const;
    const note = mapping.note === undefined ? '' : `: ${mapping.note}`;
    return [`\`${field}\``, `\`${shown(mapping.as)}\`${note}`] as const;
  });
  const rows = sent.filter(([field, as]) => field !== as).map((row) => [...row]);
  const same = sent.flatMap(([field, as]) => (field === as ? [field] : []));
  const sentence = same.length === 0 ? '' : `\n\nUnder their own names: ${same.join(', ')}.`;
  return table(['Field', 'Sent as'], rows) + sentence;
}

function metricsTables(): string {
  const byKind = Map.groupBy(Object.entries(METRICS), ([, { kind }]) => kind);
  const tables = [...byKind].map(([kind, metrics]) => {
    const rows = metrics.map(([name, { labels, help }]) => [`\`${name}{${labels}}\``, help]);
    return table([`${kind[0]?.toUpperCase()}${kind.slice(1)}`, 'Counts'], rows);
  });
  return tables.join('\n\n');
}

/** The commands that the console lacks, by the reason. */
async function commandsWithoutConsole(): Promise<string> {
  const verbs = (await verbsOfAllNouns()).flatMap((nouns) => Object.entries(nouns));
  const reasons = Map.groupBy(verbs, ([, { notOnConsole }]) => notOnConsole);
  const lines = [...reasons].flatMap(([reason, without]) => {
    const names = without.map(([name]) => `\`${name}\``).join(', ');
    return reason === undefined ? [] : [`- ${names}: ${reason}`];
  });
  return lines.join('\n');
}

/** The tables of each page of docs/, by their markers. */
const TABLES: Record<string, Record<string, () => string | Promise<string>>> = {
  'customers/prices.md': {
    prices: () => prices('standard'),
    'reference prices': () => prices('referenced'),
  },
  'operators/metrics.md': { metrics: metricsTables },
  'operators/commands.md': { exceptions: commandsWithoutConsole },
  'customers/limits.md': { limits: () => table(['What', 'Limit'], limitRows()) },
  ...Object.fromEntries(
    FIELD_TABLES.map(({ name, fields }) => {
      return [`operators/providers/${name}.md`, { fields: () => fieldsTable(fields) }];
    }),
  ),
};

/** The pages with fresh tables, as file and text. */
export async function pagesWithTables(): Promise<{ file: URL; text: string }[]> {
  return Promise.all(
    Object.entries(TABLES).map(async ([name, tables]) => {
      const file = new URL(`../../docs/${name}`, import.meta.url);
      let text = await readFile(file, 'utf8');
      for (const [mark, write] of Object.entries(tables)) {
        const place = new RegExp(`(<!-- ${mark}: .*? -->\n).*?(<!-- end -->)`, 's');
        if (!place.test(text)) throw new Error(`${name} has no mark for ${mark}`);
        const fresh = await write();
        text = text.replace(place, (_, begin, end) => `${begin}\n${fresh}\n\n${end}`);
      }
      return { file, text };
    }),
  );
}

if (import.meta.main) {
  for (const { file, text } of await pagesWithTables()) await writeFile(file, text);
}
