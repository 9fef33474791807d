import { escapeHtml, headingHtml, sampleHtml, tabsHtml, textHtml, tryItLink } from './html.ts';
import type { Section } from './markdown.ts';
import {
  type ApiResponse,
  exampleOf,
  type OpenApi,
  type Operation,
  rulesOf,
  type Schema,
  typeOf,
} from './openapi.ts';
import { exampleBody, operationSamples, toolsWithout } from './operation-samples.ts';
import type { DocsPage } from './template.ts';

type ReferencePage = Omit<DocsPage, 'book'>;

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
  const { operationId, method, path, summary, responses } = operation;
  const parts = [
    `<h1 id="${operationId}">${escapeHtml(summary)}</h1>`,
    `<p class="docs-endpoint"><b>${method}</b> <code>${escapeHtml(path)}</code></p>`,
    operation.description ? `<p>${textHtml(operation.description)}</p>` : '',
    `<p>${costOf(operation)}</p>`,
    samplesOf(operation),
  ];
  const chapters = [
    { text: 'Parameters', html: fields(parametersOf(operation)) },
    { text: 'Body', html: bodyOf(operation) },
    { text: 'Responses', html: Object.entries(responses).map(responseOf).join('') },
  ].filter(({ html }) => html !== '');
  const headings = chapters.map(({ text }) => ({ depth: 2, text, id: text.toLowerCase() }));
  for (const { text, html } of chapters) {
    parts.push(headingHtml({ depth: 2, text, id: text.toLowerCase() }, text), html);
  }
  return {
    entry: {
      slug: `reference/${operationId}`,
      file: 'openapi.json',
      short: `${method === 'DELETE' ? 'DEL' : method} ${shortPath(path)}`,
    },
    title: summary,
    html: parts.join(''),
    headings,
    source: operationMarkdown(operation),
    sections: sectionsOf(operation),
  };
}

/** Only creates cost credits. */
function costOf({ operationId }: Operation): string {
  if (operationId !== 'createVideo') return 'Costs nothing.';
  const prices = '<a href="/docs/prices">Prices and quotes</a>';
  const once = '<a href="/docs/paying-once">Paying exactly once</a>';
  const sentence = 'The same Idempotency-Key never pays twice';
  return `Reserves the price of the video (${prices}). ${sentence} (${once}).`;
}

/** The operation's samples per tool, and below them which tools lack it. */
function samplesOf(operation: Operation): string {
  const samples = operationSamples(operation).map(({ tool, language, text }) => ({
    name: tool,
    html: sampleHtml(text, language),
  }));
  const missing = toolsWithout(operation);
  const note = missing.length > 0 ? `<p class="docs-note">Not in ${missing.join(', ')}.</p>` : '';
  const link = operation.operationId === 'createVideo' ? tryItLink(exampleBody(operation)) : '';
  return tabsHtml(samples) + note + link;
}

function sectionsOf(operation: Operation): Section[] {
  const { operationId, summary, description = '', method, path, requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema ?? {};
  const all = [...parametersOf(operation), ...membersOf(body, 'field')];
  return [
    { heading: summary, id: operationId, text: `${method} ${path} ${description}` },
    ...all.map(({ name, id, schema }) => ({ heading: name, id, text: rulesOf(schema) })),
  ];
}

const shortPath = (path: string) => path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, ':$1');

function parametersOf({ parameters = [] }: Operation): Field[] {
  return parameters.map(({ name, in: place, required = false, description, schema }) => ({
    name: place === 'header' ? name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()) : name,
    id: `${place}-${name.toLowerCase()}`,
    note: place,
    required,
    schema: Object.assign({}, schema, description && { description }),
  }));
}

function bodyOf({ requestBody }: Operation): string {
  const schema = requestBody?.content['application/json']?.schema;
  if (requestBody && !schema)
    return `<p>${Object.keys(requestBody.content).join(', ')}: the bytes of a file.</p>`;
  return schema ? fields(membersOf(schema, 'field')) : '';
}

function membersOf({ properties = {}, required = [] }: Schema, prefix: string): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    id: `${prefix}-${name}`,
    note: '',
    required: required.includes(name),
    schema,
  }));
}

interface Field {
  name: string;
  id: string;
  note: string;
  required: boolean;
  schema: Schema;
}

function fields(list: Field[]): string {
  if (list.length === 0) return '';
  const rows = list.map(
    ({ name, id, note, required, schema }) => `
<div class="docs-field" id="${id}">
  <dt><a href="#${id}"><code>${escapeHtml(name)}</code></a>
  <span>${escapeHtml(typeOf(schema))}</span>
  ${note ? `<span>${note}</span>` : ''}${required ? '<b>required</b>' : ''}</dt>
  <dd>${textHtml(rulesOf(schema))}${schema.properties ? fields(membersOf(schema, id)) : ''}</dd>
</div>`,
  );
  return `<dl class="docs-fields">${rows.join('')}</dl>`;
}

function responseOf([status, { description, content }]: [string, ApiResponse]): string {
  const example = exampleOf(content);
  const code = errorCodeOf(example);
  const help =
    code && `<p><a href="/docs/errors#row-${code}">${code}: what it costs, and what to do</a></p>`;
  const shown = example === undefined ? '' : sampleHtml(JSON.stringify(example, null, 2), 'json');
  const summary = `<summary><b>${status}</b> ${escapeHtml(description)}</summary>`;
  const all = [summary, help ?? '', shown].join('');
  return `<details class="docs-response" id="status-${status}">${all}</details>`;
}

function errorCodeOf(example: unknown): string | undefined {
  return (example as { error?: { code?: string } } | undefined)?.error?.code;
}

function operationMarkdown(operation: Operation): string {
  const { method, path, summary, description, requestBody } = operation;
  const parameters = parametersOf(operation);
  const missing = toolsWithout(operation);
  const samples = operationSamples(operation).map(
    ({ tool, language, text }) => `### ${tool}\n\n${fence(language, text)}`,
  );
  const body = requestBody?.content['application/json']?.schema;
  const responses = Object.entries(operation.responses).map(responseText);
  const parts = [
    `# ${summary}`,
    `\`${method} ${path}\``,
    description,
    ...samples,
    missing.length > 0 && `Not in ${missing.join(', ')}.`,
    parameters.length > 0 && '## Parameters',
    parameters
      .map(({ name, note, schema, required }) => fieldLine(`${name} (${note})`, schema, required))
      .join('\n'),
    body && '## Body',
    body && fieldLines(body, '').join('\n'),
    '## Responses',
    ...responses,
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;

function fieldLines({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    fieldLine(`${prefix}${name}`, schema, required.includes(name)),
    ...fieldLines(schema, `${prefix}${name}.`),
  ]);
}

function fieldLine(name: string, schema: Schema, isRequired = false): string {
  const type = `${typeOf(schema)}${isRequired ? ', required' : ''}`;
  return `- \`${name}\` (${type}): ${rulesOf(schema)}`.trimEnd();
}

function responseText([status, { description, content }]: [string, ApiResponse]): string {
  const example = exampleOf(content);
  const shown =
    example === undefined ? '' : `\n\n${fence('json', JSON.stringify(example, null, 2))}`;
  return `### ${status}\n\n${description}${shown}`;
}
