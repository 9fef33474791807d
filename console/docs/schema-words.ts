import type { Schema } from './openapi.ts';

/** The type of a value, in words. */
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
