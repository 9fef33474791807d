/** The parts of a JSON schema that openapi.json uses. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
}

interface Parameter {
  name: string;
  in: string;
  schema: Schema;
  description?: string;
}

interface Openapi {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
  components: { schemas: Record<string, Schema> };
}

/** The components that become classes: what the calls of the SDK return. */
const RESPONSES = [
  'VideoTask',
  'TaskList',
  'Quote',
  'CancelResult',
  'CreditBalance',
  'Upload',
  'ModelCatalog',
];

/** Names of classes within these. Others are the name of their class and field. */
const NAMES: Record<string, string> = {
  VideoTaskOutput: 'VideoOutput',
  VideoTaskError: 'TaskError',
  ModelCatalogData: 'Model',
  ModelCreditsPerSecond: 'CreditsPerSecond',
  ModelCatalogModes: 'ModeRules',
  ModelCatalogPromptCharacters: 'Bounds',
  ModelCatalogMedia: 'MediaRules',
};

const pascal = (name: string) => name.replaceAll(/(?:^|_)(\w)/g, (_, c: string) => c.toUpperCase());
const quoted = (text: string) => JSON.stringify(text);

/** The texts of the classes, collected while types are named. Two of one shape are one class. */
class Classes {
  readonly texts: string[] = [];
  readonly #names = new Map<string, string>();

  typeOf(schema: Schema, name: string): string {
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    return this.#bareType(schema, name) + (isNullable ? ' | None' : '');
  }

  #bareType(schema: Schema, name: string): string {
    if (schema.$ref) return schema.$ref.replace('#/components/schemas/', '');
    if (schema.enum) return literalOf(schema.enum);
    if (schema.properties) return this.classOf(schema, name);
    if (typeof schema.additionalProperties === 'object')
      return `dict[str, ${this.typeOf(schema.additionalProperties, name)}]`;
    if (schema.items) return `list[${this.typeOf(schema.items, name)}]`;
    return scalarType(schema);
  }

  classOf({ properties = {} }: Schema, given: string): string {
    const shape = JSON.stringify(properties);
    const known = this.#names.get(shape);
    if (known !== undefined) return known;
    const name = NAMES[given] ?? given;
    this.#names.set(shape, name);
    const fields = Object.entries(properties).map(([field, each]) => {
      const type = this.typeOf(each, `${name}${pascal(field)}`);
      return `    ${field}: ${type}\n${docstring(each.description)}`;
    });
    this.texts.push(`@dataclass(frozen=True)\nclass ${name}:\n${fields.join('')}`);
    return name;
  }
}

/** One value per line where they are many. */
function literalOf(values: string[]): string {
  const line = `Literal[${values.map(quoted).join(', ')}]`;
  const lines = values.map((value) => `        ${quoted(value)},\n`);
  return line.length < 80 ? line : `Literal[\n${lines.join('')}    ]`;
}

const SCALARS: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
};

function scalarType({ type }: Schema): string {
  const [name = ''] = [type].flat().filter((each) => each !== 'null');
  const scalar = SCALARS[name];
  if (scalar === undefined) throw new Error(`there is no Python type for ${JSON.stringify(type)}`);
  return scalar;
}

/** The text under a field, in lines of at most 100 columns. */
function docstring(description: string | undefined): string {
  if (description === undefined) return '';
  const [first = '', ...rest] = description.split(' ');
  const text = rest.reduce((whole, word) => {
    const column = whole.length - whole.lastIndexOf('\n');
    return whole + (column + word.length > 92 ? '\n    ' : ' ') + word;
  }, `    """${first}`);
  return `${text}${text.endsWith('.') ? '' : '.'}"""\n`;
}

/** The type of what a caller gives: files and times may be given as what Python has for them. */
function givenType(schema: Schema): string {
  if (schema.format === 'uri') return 'Media';
  if (schema.format === 'date-time') return 'datetime | str';
  if (schema.items) return `Sequence[${givenType(schema.items)}]`;
  return new Classes().typeOf(schema, '');
}

function typedDict(name: string, doc: string, fields: [string, Schema][]): string {
  const lines = fields.map(
    ([field, schema]) =>
      `    ${field}: ${givenType(schema)} | None\n${docstring(schema.description)}`,
  );
  return `class ${name}(TypedDict, total=False):\n    """${doc}"""\n\n${lines.join('')}`;
}

const HEAD = `"""The types of openapi.json, written by write.ts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from ._media import Media
`;

/** The text of _models.py. */
export function modelsText({ paths, components }: Openapi): string {
  const classes = new Classes();
  for (const name of RESPONSES) classes.classOf(components.schemas[name] ?? {}, name);
  const fields = Object.entries(components.schemas.VideoRequest?.properties ?? {});
  const isMedia = ([, { format, items }]: [string, Schema]) => (items?.format ?? format) === 'uri';
  const filters = (paths['/api/v1/tasks']?.get?.parameters ?? [])
    .filter(({ name, in: place }) => place === 'query' && name !== 'cursor')
    .map(({ name, schema, description = '' }): [string, Schema] => [
      name,
      { ...schema, description },
    ]);
  const texts = [
    ...classes.texts,
    typedDict(
      'VideoFields',
      'What a video is made of, beside its prompt. A field that is None is not sent.',
      fields.filter(([field]) => field !== 'prompt'),
    ),
    typedDict('ListFilter', 'Which tasks a list has.', filters),
    `MEDIA_FIELDS = (${fields
      .filter(isMedia)
      .map(([field]) => quoted(field))
      .join(', ')})\n`,
  ];
  return `${HEAD}\n\n${texts.join('\n\n')}`;
}
