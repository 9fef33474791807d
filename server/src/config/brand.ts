import { BRAND_FIELDS, type BrandField, type BrandSettings } from '../brand/brand.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Environment, namingVariables, read } from '../kernel/variables.ts';
import { fileBytes } from './models-file.ts';

/** The brand settings that variables set. @throws UsageError that names the variable */
export function readBrand(env: Environment): BrandSettings {
  const fields = Object.keys(BRAND_FIELDS) as BrandField[];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = readField(env, field);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

function readField(env: Environment, field: BrandField): string | undefined {
  const { variable, check } = BRAND_FIELDS[field];
  const text = read(env, variable, '');
  if (text === '') return undefined;
  const given =
    field === 'logo' ? namingVariables(variable, () => fileBytes(text).toString('base64')) : text;
  return check(given, (bound) => {
    throw new UsageError(`${variable} ${bound}`);
  });
}
