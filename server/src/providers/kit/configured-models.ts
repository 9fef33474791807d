import { bad, type Environment, read } from '../../kernel/variables.ts';
import type { JobSpec } from '../provider.ts';

/** Model ids that an operator configured; undefined: the default of the adapter. */
export type ConfiguredModels = Record<JobSpec['model'], string | undefined>;

/**
 * Reads `PREFIX_MODEL`, `PREFIX_MODEL_FAST` and `PREFIX_MODEL_MINI`.
 * @throws UsageError, one line that names the variable, when a value can't be a model's id
 */
export function readModels(env: Environment, prefix: string): ConfiguredModels {
  return {
    'video-2.0': readModel(env, `${prefix}_MODEL`),
    'video-2.0-fast': readModel(env, `${prefix}_MODEL_FAST`),
    'video-2.0-mini': readModel(env, `${prefix}_MODEL_MINI`),
  };
}

/** Ids become part of URLs, so characters that have a meaning there are refused. */
function readModel(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  const isModel = /^[\w.:-]+(\/[\w.:-]+)*$/.test(text);
  if (text !== '' && !isModel) bad(name, text, 'the id of a model, such as owner/name');
  return text || undefined;
}

/** The default models of an adapter, replaced by those that are configured. */
export function withConfiguredModels<Id>(
  models: Record<keyof ConfiguredModels, Id>,
  configured: Partial<ConfiguredModels>,
) {
  return {
    'video-2.0': configured['video-2.0'] ?? models['video-2.0'],
    'video-2.0-fast': configured['video-2.0-fast'] ?? models['video-2.0-fast'],
    'video-2.0-mini': configured['video-2.0-mini'] ?? models['video-2.0-mini'],
  };
}
