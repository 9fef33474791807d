import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/**
 * A job id in the format of any provider. It becomes part of URL paths, statements and logs. Ids of
 * dots only (`.`, `..`) are rejected, because in a URL path they select another resource.
 */
export const JobIdSchema = Type.String({ pattern: '^(?!\\.+$)[\\w.:-]{1,200}$' });

export function jobIdIn(json: unknown, field: string): string | null {
  const id = Object(json)[field];
  return isJobId(id) ? id : null;
}

export function isJobId(value: unknown): value is Static<typeof JobIdSchema> {
  return Value.Check(JobIdSchema, value);
}
