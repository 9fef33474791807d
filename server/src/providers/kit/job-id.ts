import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/**
 * What counts as a job's id, in whatever a provider says: it goes into addresses, statements and
 * logs. Dots alone are none, since they would lead elsewhere in an address.
 */
export const JobIdSchema = Type.String({ pattern: '^(?!\\.+$)[\\w.:-]{1,200}$' });

/** Whether a provider's word can be a job's id. */
export function isJobId(value: unknown): value is Static<typeof JobIdSchema> {
  return Value.Check(JobIdSchema, value);
}
