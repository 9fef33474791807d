import { readFileSync } from 'node:fs';

// The parts of openapi.json that the reference shows, with what their references name in place.

export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
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
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, ApiResponse>;
}

export interface OpenApi {
  tags: { name: string; description: string }[];
  operations: Operation[];
}

export function readOpenApi(file: string): OpenApi {
  const document = JSON.parse(readFileSync(file, 'utf8'));
  const resolved = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(resolved);
    if (typeof part !== 'object' || part === null) return part;
    const { $ref, ...members } = part as { $ref?: string; [name: string]: unknown };
    const entries = Object.entries(members).map(([name, value]) => [name, resolved(value)]);
    return Object.assign({}, $ref && resolved(named(document, $ref)), Object.fromEntries(entries));
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as object).map(([method, operation]) =>
      Object.assign(resolved(operation) as Operation, { path, method: method.toUpperCase() }),
    ),
  );
  return { tags: document.tags, operations };
}

/** What `#/components/schemas/Name` names. */
function named(document: object, reference: string): unknown {
  const names = reference.slice('#/'.length).split('/');
  return names.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document);
}

/** The example of a body or response. */
export function exampleOf(content: Record<string, Media> | undefined): unknown {
  const media = content?.['application/json'];
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
}
