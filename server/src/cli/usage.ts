import type { Field } from '../operator/verb/fields.ts';
import type { Verb } from '../operator/verb/verb.ts';

/** The option of a field, such as `--expires-at`. */
export function optionOf(field: string): string {
  return `--${field.replaceAll('_', '-')}`;
}

/** How a field is given, such as `--expires-at ISO`. */
function givenAs(field: string, { kind, word }: Field<unknown>): string {
  return kind === 'flag' ? optionOf(field) : `${optionOf(field)} ${word}`;
}

/** As typed after `framewright`, such as `keys create ACCOUNT [--name N]`. */
export function usageOf(name: string, { words = [], fields, oneOf, reason }: Verb): string {
  const parts = Object.entries(fields).flatMap(([field, facts]) => {
    if (words.includes(field)) return [];
    if (!oneOf?.fields.includes(field)) {
      const given = givenAs(field, facts);
      return [facts.isOptional ? `[${given}]` : given];
    }
    if (field !== oneOf.fields[0]) return [];
    const all = oneOf.fields.flatMap((one) => {
      const of = fields[one];
      return of ? [givenAs(one, of)] : [];
    });
    return [oneOf.isRequired ? `(${all.join(' | ')})` : `[${all.join(' | ')}]`];
  });
  const asWords = words.map((field) => fields[field]?.word ?? field);
  return [name, ...asWords, ...parts, ...(reason === 'required' ? ['--reason TEXT'] : [])].join(
    ' ',
  );
}
