import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PAGES_WITH_SAMPLES, samplesOfPage } from './page-samples.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** The part of a JSON schema that is read here. */
interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  items?: Schema;
}

const { schemas }: { schemas: Record<string, Schema> } = JSON.parse(
  read('openapi.json'),
).components;
const ERRORS = read('docs/customers/ERRORS.md');

/** A member that only such a value has, and its name in openapi.json. */
const SHAPES = {
  inputs: 'ErrorDetails',
  credits_per_second: 'Quote',
  media_type: 'Upload',
  timestamp: 'WebhookEvent',
  credits_used: 'VideoTask',
  error: 'InvalidRequestError', // a task has it, too
};

/** What is wrong with a value that a page shows. Members may be left out. */
function faultsOf(value: unknown, schema: Schema, place: string): string[] {
  const { $ref, anyOf, properties = {}, items = {} } = schema;
  if ($ref) return faultsOf(value, schemas[path.basename($ref)] ?? {}, place);
  if (anyOf) {
    const [least = []] = anyOf
      .map((one) => faultsOf(value, one, place))
      .sort((one, other) => one.length - other.length);
    return least;
  }
  if (schema.enum && !schema.enum.includes(value)) return [`${place}: ${value}`];
  if (schema.type && ![schema.type].flat().includes(typeOf(value))) return [`${place}: ${value}`];
  if (Array.isArray(value))
    return value.flatMap((one, i) => faultsOf(one, items, `${place}[${i}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name];
    if (known) return faultsOf(member, known, `${place}.${name}`);
    const isListed = schema.additionalProperties !== false && ERRORS.includes(`\`${name}\``);
    return isListed ? [] : [`${place}.${name}`];
  });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

test('each response and event that a page shows is one that openapi.json describes', () => {
  const seen = new Set<string>();
  for (const { file, info, text } of PAGES_WITH_SAMPLES.flatMap(samplesOfPage)) {
    if (!info.startsWith('json')) continue;
    const value = JSON.parse(text);
    if ('mcpServers' in value || info === 'json tab=MCP') continue; // the tests of samples run these
    const [, shape] =
      Object.entries(SHAPES).find(([member]) => member in value) ??
      assert.fail(`what is this on ${file}?\n${text}`);
    assert.deepEqual(faultsOf(value, schemas[shape] ?? {}, file), []);
    seen.add(shape);
  }
  assert.deepEqual([...seen].sort(), Object.values(SHAPES).sort());
});
