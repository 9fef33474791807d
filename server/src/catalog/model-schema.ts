import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { type Catalog, offeredNames } from './catalog.ts';
import { BUILT_IN_MODELS } from './models.ts';

/** The schema of a model's name. {@link withModels} replaces its names with those of a catalog. */
export function modelSchema(options: { default?: string; description?: string } = {}) {
  return Type.Enum<string[]>([...BUILT_IN_MODELS], options);
}

const OF_CONTRACT = JSON.stringify(BUILT_IN_MODELS);

/** A copy of a schema in which these names replace those of the built-in models. */
export function withModels(schema: object, names: readonly string[]): object {
  return JSON.parse(JSON.stringify(schema).replaceAll(OF_CONTRACT, JSON.stringify(names)));
}

/** Whether a schema depends on the catalog. */
export function hasModels(schema: object): boolean {
  return JSON.stringify(schema).includes(OF_CONTRACT);
}

/** The names that the schema accepts, also of retired models, which `checkRequest` refuses. */
function knownNames({ models }: Catalog): string[] {
  return models.map(({ name }) => name);
}

/** The schema by which requests are validated. */
export function requestSchema(schema: object, catalog: Catalog): object {
  return withModels(schema, knownNames(catalog));
}

/** The problems that {@link requestSchema} found, without the names of hidden models. */
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
