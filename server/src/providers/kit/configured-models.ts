import { BUILT_IN_MODELS, type BuiltInModel } from '../../catalog/models.ts';
import { type Environment, read, refuseVariable } from '../../kernel/variables.ts';
import type { JobSpec } from '../provider.ts';
import { rejected } from './outcomes.ts';

/** `PREFIX_MODEL` for video-2.0, `PREFIX_MODEL_FAST` for video-2.0-fast, ... */
export function modelVariables(prefix: string): Record<BuiltInModel, string> {
  return forEachModel((model) => {
    const suffix = model
      .replace(/^video(-2\.0)?/, '')
      .replaceAll(/\W/g, '_')
      .toUpperCase();
    return `${prefix}_MODEL${suffix}`;
  });
}

/**
 * Reads the variables of all models; one that is not set has the adapter's default.
 * @throws UsageError, one line that names the variable, when a value can't be a model's id
 */
export function readModels<Id>(
  env: Environment,
  prefix: string,
  defaults: Record<BuiltInModel, Id>,
): Record<BuiltInModel, Id | string> {
  const variables = modelVariables(prefix);
  return forEachModel((model) => readModel(env, variables[model]) ?? defaults[model]);
}

/** Ids become part of URLs, so characters that have a meaning there are refused. */
function readModel(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  const isModel = /^[\w.:-]+(\/[\w.:-]+)*$/.test(text);
  if (text !== '' && !isModel) refuseVariable(name, text, 'the id of a model, such as owner/name');
  return text || undefined;
}

function forEachModel<Value>(idFor: (model: BuiltInModel) => Value): Record<BuiltInModel, Value> {
  const entries = BUILT_IN_MODELS.map((model) => [model, idFor(model)]);
  return Object.fromEntries(entries) as Record<BuiltInModel, Value>;
}

/** The provider's id of a request's model: from the model's route, else from the variables. */
export function modelIdOf<Id>(
  models: Record<BuiltInModel, Id>,
  { model, providerModel }: { model: string; providerModel?: string | undefined },
): NonNullable<Id> | string | undefined {
  const configured = Object.entries<Id>(models).find(([name]) => name === model)?.[1];
  return providerModel ?? configured ?? undefined;
}

/** The outcome of a submit whose model has no id at the provider. */
export function rejectModel(provider: string, { model }: Pick<JobSpec, 'model'>) {
  return rejected('operator', `${provider} has no model configured for ${model}`);
}
