import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/**
 * A job id in the format of any provider. It becomes part of URL paths, statements and logs. Ids of
 * dots only (`.`, `..`) are rejected, because in a URL path they select another resource.
 */
export const JobIdSchema = Type.String({ pattern: '^(?!\\.+$)[\\w.:-]{1,200}$' });

/** Whether a value from a provider is a valid job id. */
export function isJobId(value: unknown): value is Static<typeof JobIdSchema> {
  return Value.Check(JobIdSchema, value);
}
