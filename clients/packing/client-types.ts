import { writeFileSync } from 'node:fs';
import openapi from '../../openapi.json' with { type: 'json' };

// The TypeScript client's types, made from openapi.json. `node clients/packing/client-types.ts`
// writes them for the compiler: no running code needs them.

interface Schema {
  $ref?: string;
  description?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  type?: string | string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

/** Names for parts of the schemas. */
const PARTS = {
  Model: "VideoTask['model']",
  Mode: "VideoTask['mode']",
  EventType: "WebhookEndpoint['events'][number]",
  Bounds: "ModelCatalog['duration_seconds']",
  ModelRates: "ModelCatalog['data'][number]['credits_per_second']",
};

// The contract's models have no member of these, so openapi.json has none.
const ADDED_MODEL = `/** A model of \`GET /models\`: what an added one may have besides. */
export type AddedModel = ModelCatalog['data'][number] & {
  /** The name that people read, if it is not the id. */
  title?: string;
  /** If it does not offer all modes. */
  modes?: string[];
  /** The seconds that it makes, if it does not make all of \`duration_seconds\`. */
  durations?: number[];
  /** If it does not offer all ratios. */
  aspect_ratios?: string[];
  /** false: its videos have no sound. */
  audio?: boolean;
  /** false: it takes no seed. */
  seed?: boolean;
  /** A price that is announced, and when it takes effect. */
  next_price?: { from: string; credits_per_second: ModelRates };
};
`;

export function clientTypes(): string {
  const schemas: [string, Schema][] = Object.entries(openapi.components.schemas);
  const types = schemas
    .filter(([name]) => !/\wError$/.test(name)) // `Error` has all codes
    .map(([name, schema]) =>
      schema.type === 'object'
        ? `export interface ${nameOf(name)} ${typeOf(schema)}\n`
        : `export type ${nameOf(name)} = ${typeOf(schema)};\n`,
    );
  const parts = Object.entries(PARTS).map(([name, type]) => `export type ${name} = ${type};\n`);
  return `// Written by clients/packing/client-types.ts.\n\n${[...types, ...parts, ADDED_MODEL].join('\n')}`;
}

/** `Error` would hide JavaScript's own. */
const nameOf = (name: string) => (name === 'Error' ? 'ErrorResponse' : name);

function typeOf(schema: Schema): string {
  const { $ref, enum: values, anyOf, type = 'unknown' } = schema;
  if ($ref) return nameOf($ref.replace('#/components/schemas/', ''));
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ') + moreOf(values);
  return [type]
    .flat()
    .map((one) => plainType(one, schema))
    .join(' | ');
}

/** A service may have added models; the compiler still suggests the contract's. */
function moreOf(values: unknown[]): string {
  const { model } = openapi.components.schemas.VideoTask.properties;
  return String(values) === String(model.enum) ? ' | (string & {})' : '';
}

function plainType(type: string, { items = {}, ...object }: Schema): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return `Array<${typeOf(items)}>`;
  return type === 'object' ? objectType(object) : type;
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (!properties) {
    const values = typeof additionalProperties === 'object' ? additionalProperties : {};
    return `Record<string, ${typeOf(values)}>`;
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const doc = schema.description ? `/** ${schema.description.replace(/\.?$/, '.')} */\n` : '';
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    const type = typeOf(schema);
    const isRequired = required.includes(name);
    return `${doc}${key}${isRequired ? `: ${type}` : `?: ${type} | undefined`};\n`;
  });
  return `{\n${members.join('')}}`;
}

if (import.meta.main) {
  writeFileSync(new URL('../typescript/src/openapi.ts', import.meta.url), clientTypes());
}
