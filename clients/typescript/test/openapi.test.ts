import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import openapi from '../../../openapi.json' with { type: 'json' };
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';

const run = promisify(execFile);
const TYPES = path.join(import.meta.dirname, '../src/openapi.ts');
const TSC = path.join(import.meta.dirname, '../../../node_modules/.bin/tsc');
const FLAGS = '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --target esnext';
const MODULES = '--module nodenext --allowImportingTsExtensions --types';

interface Schema {
  $ref?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  type?: string | string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

/** `Error` is a global of its own. */
const nameOf = (name: string) => (name === 'Error' ? 'ErrorResponse' : name);

function typeOf(schema: Schema): string {
  const { $ref, enum: values, anyOf, type = 'unknown' } = schema;
  if ($ref) return `Api.${nameOf($ref.replace('#/components/schemas/', ''))}`;
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  return [type]
    .flat()
    .map((one) => plainType(one, schema))
    .join(' | ');
}

function plainType(type: string, { items = {}, ...object }: Schema): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return `(${typeOf(items)})[]`;
  return type === 'object' ? objectType(object) : type;
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (!properties) {
    const values = typeof additionalProperties === 'object' ? additionalProperties : {};
    return `Record<string, ${typeOf(values)}>`;
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema);
    const isRequired = required.includes(name);
    return `${JSON.stringify(name)}${isRequired ? `: ${type}` : `?: ${type} | undefined`}`;
  });
  return `{ ${members.join('; ')} }`;
}

/** `true` if the compiler takes two types to be the same, otherwise the name, for its message. */
const SAME = `type Same<Name, A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : Name;`;

test('the types are those of openapi.json', async () => {
  await using folder = await temporaryFolder();
  const schemas: [string, Schema][] = Object.entries(openapi.components.schemas);
  const all = schemas.filter(([name]) => !/^\w+Error$/.test(name)); // `Error` has all of them
  const checks = all.map(([name, schema]) => {
    const type = nameOf(name);
    return `export const ${type}: Same<'${type}', Api.${type}, ${typeOf(schema)}> = true;`;
  });
  const file = path.join(folder.path, 'check.ts');
  await writeFile(file, [`import type * as Api from '${TYPES}';`, SAME, ...checks].join('\n'));
  const args = [...`${FLAGS} ${MODULES}`.split(' '), '', file];
  await run(TSC, args).catch(({ stdout }) => assert.fail(stdout));
});
