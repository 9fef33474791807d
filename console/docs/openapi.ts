import { readFileSync } from 'node:fs';

// The parts of openapi.json that the reference shows, with references resolved.

export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface ApiResponse {
  description: string;
  content?: Record<string, Media>;
}

export interface Operation {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, ApiResponse>;
}

export interface OpenApi {
  tags: { name: string }[];
  operations: Operation[];
}

export function readOpenApi(file: string): OpenApi {
  const document = JSON.parse(readFileSync(file, 'utf8'));
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as object).map(([method, operation]) =>
      Object.assign(resolved(operation, document), { path, method: method.toUpperCase() }),
    ),
  );
  return { tags: document.tags, operations };
}

/** A copy of a part of openapi.json in which each reference is replaced by what it names. */
// biome-ignore lint/suspicious/noExplicitAny: parts of every shape
export function resolved(part: unknown, document: object): any {
  if (Array.isArray(part)) return part.map((one) => resolved(one, document));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref, ...members } = part as { $ref?: string; [name: string]: unknown };
  const entries = Object.entries(members).map(([name, one]) => [name, resolved(one, document)]);
  const shared = $ref && resolved(named(document, $ref), document);
  return Object.assign({}, shared, Object.fromEntries(entries));
}

/** Looks up `#/components/schemas/Name`. */
function named(document: object, reference: string): unknown {
  const names = reference.slice('#/'.length).split('/');
  const part = names.reduce<unknown>((parent, name) => Object(parent)[name], document);
  if (part === undefined) throw new Error(`openapi.json has no ${reference}`);
  return part;
}

export function exampleOf(content: Record<string, Media> | undefined): unknown {
  const media = content?.['application/json'];
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
}

export function typeOf({ type, items, format, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  const types = [type ?? []].flat().join(' or ');
  if (items) return `${types} of ${typeOf(items)}`;
  return format ? `${types}, ${format}` : types;
}

/** The description of a field, and its bounds, values and default in words. */
export function rulesOf(schema: Schema): string {
  const { description, default: byDefault } = schema;
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  const rules = [
    description && `${description}.`,
    values && `One of ${values.map((value) => JSON.stringify(value)).join(', ')}.`,
    range('', schema.minimum, schema.maximum),
    range(' characters', schema.minLength, schema.maxLength),
    range(' entries', schema.minItems, schema.maxItems),
    byDefault === undefined ? '' : `By default ${JSON.stringify(byDefault)}.`,
  ];
  return rules.filter(Boolean).join(' ').replaceAll('..', '.');
}

function range(unit: string, from?: number, to?: number): string {
  if (from !== undefined && to !== undefined) return `${from} to ${to}${unit}.`;
  if (to !== undefined) return `At most ${to}${unit}.`;
  return from === undefined ? '' : `At least ${from}${unit}.`;
}
