import type { RequestField } from '../../catalog/request.ts';
import type { JobSpec, ProviderInput } from '../provider.ts';

/** A field that is sent with its own value, under the name `as`. `note` follows it in the docs. */
interface Sent {
  as: string;
  note?: string;
}

/**
 * How an adapter sends each field of a request: request bodies and the table in its docs page are
 * made from it. A new field does not compile until each adapter has a row.
 */
export type FieldTable = {
  readonly [Field in RequestField]:
    | (Field extends keyof JobSpec ? Sent : never)
    /** Sent with a value made from the job spec; undefined leaves it out. */
    | (Sent & { value: (jobSpec: JobSpec) => unknown })
    /** The adapter sends it in another way, which this describes in the docs. */
    | { by: string }
    /** The provider has nothing for it; the text tells operators why. */
    | { notSent: string };
};

/** The fields that the table sends by name, except fields without a value. */
export function requestFields(table: FieldTable, jobSpec: JobSpec): Record<string, unknown> {
  const own: Partial<Record<string, unknown>> = { ...jobSpec };
  const fields = Object.entries(table).flatMap(([field, mapping]) => {
    if (!('as' in mapping)) return [];
    const value = 'value' in mapping ? mapping.value(jobSpec) : own[field];
    return value === undefined ? [] : [[mapping.as, value] as const];
  });
  return Object.fromEntries(fields);
}

type Role = ProviderInput['role'];

export const linkTo = (role: Role) => (jobSpec: JobSpec) => linksOf(jobSpec, role)[0];

/** The links to all files of a role, in order; undefined if there is none. */
export const linksTo = (role: Role) => (jobSpec: JobSpec) => {
  const links = linksOf(jobSpec, role);
  return links.length > 0 ? links : undefined;
};

function linksOf({ inputs }: JobSpec, role: Role): string[] {
  return inputs.filter((input) => input.role === role).map(({ url }) => url);
}
