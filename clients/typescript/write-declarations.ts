import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Writes the types of openapi.json that the clients use: `npm run openapi` runs it.
const DOCUMENT = new URL('../../openapi.json', import.meta.url);
export const TYPES_FILE = new URL('src/openapi.ts', import.meta.url);

interface Schema {
  $ref?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  type?: string | string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
}

interface OpenApi {
  components: { schemas: Record<string, Schema> };
}

/** The error of one status: `Error` has all of them. */
const isOneError = (name: string) => /^\w+Error$/.test(name);

/** `Error` is a global of its own. */
const nameOf = (name: string) => (name === 'Error' ? 'ErrorResponse' : name);

/** The text of src/openapi.ts. It is the same each time. */
export function typesText(): string {
  const input = declarations(JSON.parse(readFileSync(DOCUMENT, 'utf8')));
  const biome = fileURLToPath(
    new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url),
  );
  const args = [biome, 'format', '--stdin-file-path', 'openapi.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function declarations({ components }: OpenApi): string {
  const schemas = Object.entries(components.schemas).filter(([name]) => !isOneError(name));
  const types = schemas.map(([name, schema]) => declaration(nameOf(name), schema));
  return ['// Written from openapi.json by `npm run openapi`.\n', ...types].join('\n');
}

function declaration(name: string, schema: Schema): string {
  const isObject = schema.properties !== undefined;
  const head = isObject ? `export interface ${name} ` : `export type ${name} = `;
  return `${comment(schema, '')}${head}${typeOf(schema, '')}${isObject ? '' : ';'}\n`;
}

/** A description in lines of at most 100 columns. */
function comment({ description }: Schema, indent: string): string {
  if (description === undefined) return '';
  const text = description.replaceAll('*/', '* /');
  if (indent.length + text.length < 90) return `${indent}/** ${text} */\n`;
  const lines = (text.match(/.{1,80}(?:\s|$)/g) ?? []).map(
    (line) => `${indent} * ${line.trim()}\n`,
  );
  return `${indent}/**\n${lines.join('')}${indent} */\n`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref) return nameOf(schema.$ref.split('/').at(-1) ?? '');
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map((one) => typeOf(one, indent)).join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, indent)).join(' & ');
  const types = [schema.type ?? 'unknown'].flat();
  return types.map((type) => plainType(type, schema, indent)).join(' | ');
}

function plainType(type: string, schema: Schema, indent: string): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return `(${typeOf(schema.items ?? {}, indent)})[]`;
  return type === 'object' ? objectType(schema, indent) : type;
}

function objectType({ properties = {}, required, additionalProperties }: Schema, indent: string) {
  const inner = `${indent}  `;
  if (Object.keys(properties).length === 0) {
    const values =
      typeof additionalProperties === 'object' ? typeOf(additionalProperties, inner) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const lines = Object.entries(properties).map(([name, schema]) => {
    const [mark, end] = required?.includes(name) ? ['', ''] : ['?', ' | undefined'];
    const type = `${typeOf(schema, inner)}${end}`;
    return `${comment(schema, inner)}${inner}${JSON.stringify(name)}${mark}: ${type};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

if (import.meta.main) writeFileSync(TYPES_FILE, typesText());
