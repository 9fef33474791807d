import { renderMarkdown } from './markdown.ts';
import { escapeHtml } from './marks.ts';
import {
  type ApiResponse,
  exampleOf,
  type OpenApi,
  type Operation,
  rulesOf,
  type Schema,
  typeOf,
} from './openapi.ts';
import { operationSamples, TOOLS } from './operation-samples.ts';
import type { DocsPage } from './template.ts';

type ReferencePage = Omit<DocsPage, 'book'>;

const FILE = 'openapi.json';

/** The reference's chapters: a page per operation, grouped as in openapi.json. */
export function referenceOf({ tags, operations }: OpenApi) {
  const pages = operations.map(pageOf);
  const chapters = tags.map(({ name }) => {
    const inside = pages.filter((_, at) => operations[at]?.tags[0] === name);
    return [`Reference: ${name}`, inside.map(({ entry }) => entry)] as const;
  });
  return { chapters: Object.fromEntries(chapters), pages };
}

function pageOf(operation: Operation): ReferencePage {
  const { operationId, method, path } = operation;
  const source = markdownOf(operation);
  const rendered = renderMarkdown(source, { file: FILE, addressOf: (address) => `/${address}` });
  const short = `${method === 'DELETE' ? 'DEL' : method} ${shortPath(path)}`;
  return {
    ...rendered,
    // The search finds each field by its name; there is nothing else below these headings.
    sections: rendered.sections.filter(({ heading }) => !CHAPTERS.includes(heading)),
    source,
    entry: { slug: `reference/${operationId}`, file: FILE, short },
  };
}

const shortPath = (path: string) => path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, ':$1');

const CHAPTERS = ['Parameters', 'Body', 'Responses'];

function markdownOf(operation: Operation): string {
  const { method, path, summary, description, responses } = operation;
  const samples = operationSamples(operation);
  const missing = TOOLS.filter((name) => !samples.some(({ tool }) => tool === name));
  const texts = [
    parametersOf(operation),
    bodyOf(operation),
    Object.entries(responses).map(responseOf).join('\n\n'),
  ];
  const parts = [
    `# ${summary}`,
    `**${method}** \`${path}\``,
    description && inMarkdown(description),
    costOf(operation),
    ...samples.map(({ tool, language, text }) => fence(`${language} tab=${tool}`, text)),
    missing.length > 0 && `Not in ${missing.join(', ')}.`,
    ...CHAPTERS.map((title, i) => texts[i] && `## ${title}\n\n${texts[i]}`),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;

/** A text of openapi.json, with page URLs as links. */
function inMarkdown(text: string): string {
  return text.replaceAll(/[<|*[]/g, '\\$&').replaceAll(/\/docs\/[\w#/-]+/g, '[$&]($&)');
}

/** Only creates cost credits. */
function costOf({ operationId }: Operation): string {
  if (operationId !== 'createVideo') return 'Costs nothing.';
  return `Reserves the price of the video ([Prices and quotes](/docs/prices), also of models
that only this installation has). The same Idempotency-Key
never pays twice ([Paying exactly once](/docs/paying-once)).`;
}

function parametersOf({ parameters = [] }: Operation): string {
  return table(
    parameters.map(({ name, in: place, required = false, description, schema }) => {
      const shown = place === 'header' ? name.replaceAll(/\b[a-z]/g, (c) => c.toUpperCase()) : name;
      const described = Object.assign({}, schema, description && { description });
      return rowOf(shown, described, { place, required });
    }),
  );
}

function bodyOf({ requestBody }: Operation): string {
  if (!requestBody) return '';
  const schema = requestBody.content['application/json']?.schema;
  if (schema) return table(fieldRows(schema, ''));
  const types = Object.keys(requestBody.content).map((type) => `\`${type}\``);
  return `${types.join(', ')}: the bytes of a file.`;
}

function table(rows: string[]): string {
  return rows.length === 0
    ? ''
    : ['| Name | Type | Meaning |', '|---|---|---|', ...rows].join('\n');
}

function fieldRows({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    rowOf(`${prefix}${name}`, schema, { required: required.includes(name) }),
    ...fieldRows(schema, `${prefix}${name}.`),
  ]);
}

function rowOf(name: string, schema: Schema, about: { place?: string; required: boolean }): string {
  const type = [typeOf(schema), about.place, about.required && '**required**'].filter(Boolean);
  return `| \`${name}\` | ${type.join(', ')} | ${inMarkdown(rulesOf(schema))} |`;
}

function responseOf([status, { description, content }]: [string, ApiResponse]): string {
  const example = exampleOf(content);
  const code = (example as { error?: { code?: string } } | undefined)?.error?.code;
  const parts = [
    `<details><summary><b>${status}</b> ${escapeHtml(description)}</summary>`,
    code && `[${code}: what it costs, and what to do](/docs/errors#row-${code})`,
    example !== undefined && fence('json', JSON.stringify(example, null, 2)),
    '</details>',
  ];
  return parts.filter(Boolean).join('\n\n');
}
