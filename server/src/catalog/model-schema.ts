import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { type Catalog, offeredNames } from './catalog.ts';
import { BUILT_IN_MODELS } from './models.ts';

/** The schema of a model's name. Wherever it is used, {@link withModels} puts those of a catalog. */
export function modelSchema(options: { default?: string; description?: string } = {}) {
  return Type.Enum<string[]>([...BUILT_IN_MODELS], options);
}

const OF_CONTRACT = JSON.stringify(BUILT_IN_MODELS);

/** A copy of a JSON value in which each list of the contract's models has these names. */
export function withModels(schema: object, names: readonly string[]): object {
  return JSON.parse(JSON.stringify(schema).replaceAll(OF_CONTRACT, JSON.stringify(names)));
}

/** Whether a schema is another one for each catalog. */
export function hasModels(schema: object): boolean {
  return JSON.stringify(schema).includes(OF_CONTRACT);
}

/** The names that requests may have: of all models, since they say themselves what is retired. */
function knownNames({ models }: Catalog): string[] {
  return models.map(({ name }) => name);
}

/** The schema by which requests are validated. */
export function requestSchema(schema: object, catalog: Catalog): object {
  return withModels(schema, knownNames(catalog));
}

/** What {@link requestSchema} found wrong, without the names of models that are in no list. */
export function withoutHidden<Problem extends { params: Record<string, unknown> }>(
  problems: Problem[],
  catalog: Catalog,
): Problem[] {
  const known = knownNames(catalog);
  return problems.map((problem) => {
    const { allowedValues } = problem.params;
    if (!isDeepStrictEqual(allowedValues, known)) return problem;
    return { ...problem, params: { ...problem.params, allowedValues: offeredNames(catalog) } };
  });
}
