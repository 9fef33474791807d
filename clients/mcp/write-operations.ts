import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

// Writes src/operations.json, the inputs and results of the API's operations that the tools have,
// from openapi.json: `node clients/mcp/write-operations.ts`.

interface Schema {
  $ref?: string;
  [member: string]: unknown;
}
interface Operation {
  operationId: string;
  parameters?: { $ref?: string; in: string; name: string; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

const openapi = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8'),
);

/** A part of openapi.json, with what its references name in their places. */
function resolved(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(resolved);
  if (typeof part !== 'object' || part === null) return part;
  const { $ref, ...members } = part as Schema;
  const named = $ref === undefined ? {} : (resolved(at($ref)) as object);
  return Object.assign(
    named,
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, resolved(value)])),
  );
}

function at(reference: string): unknown {
  const names = reference.slice('#/'.length).split('/');
  return structuredClone(names.reduce((part, name) => part[name], openapi));
}

function operation(id: string): Operation {
  const operations = Object.values(openapi.paths).flatMap((item) => Object.values(item as object));
  const found = operations.find(({ operationId }) => operationId === id);
  if (!found) throw new Error(`openapi.json has no operation ${id}`);
  return resolved(found) as Operation;
}

function bodyOf(id: string) {
  const schema = operation(id).requestBody?.content['application/json']?.schema;
  if (!schema) throw new Error(`${id} has no JSON body`);
  return { properties: schema.properties, required: schema.required ?? [] };
}

function queryOf(id: string) {
  const parameters = (operation(id).parameters ?? []).filter((one) => one.in === 'query');
  const properties = parameters.map(({ name, description, schema }) => [
    name,
    { ...schema, description },
  ]);
  return { properties: Object.fromEntries(properties) };
}

/**
 * The names, types and descriptions of a result, without the values: a client refuses data that is
 * not as declared, and a newer service may return another model.
 */
function resultOf(name: string): unknown {
  const kept = ['type', 'description', 'required', 'properties', 'items'];
  const typesOf = (schema: Schema): Schema => {
    const { properties, items, ...rest } = Object.fromEntries(
      Object.entries(schema).filter(([member]) => kept.includes(member)),
    );
    const members = Object.entries(properties ?? {}).map(([key, value]) => [key, typesOf(value)]);
    return {
      ...rest,
      ...(properties !== undefined && { properties: Object.fromEntries(members) }),
      ...(items !== undefined && { items: typesOf(items as Schema) }),
    };
  };
  return typesOf(resolved(at(`#/components/schemas/${name}`)) as Schema);
}

const RESULTS = ['VideoTask', 'TaskList', 'Quote', 'CancelResult', 'CreditBalance', 'Upload'];

/** The text of src/operations.json. */
export function operationsText(): string {
  const operations = {
    inputs: {
      createVideo: bodyOf('createVideo'),
      createQuote: bodyOf('createQuote'),
      listTasks: queryOf('listTasks'),
    },
    results: Object.fromEntries(RESULTS.map((name) => [name, resultOf(name)])),
  };
  return `${JSON.stringify(operations, null, 2)}\n`;
}

if (import.meta.main) {
  writeFileSync(path.join(import.meta.dirname, 'src/operations.json'), operationsText());
}
