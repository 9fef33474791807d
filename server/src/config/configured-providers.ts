import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { unservedTasks } from '../operator/unserved.ts';
import { callOnce } from '../outbound/call.ts';
import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import { createArkProvider } from '../providers/ark/ark.ts';
import { modelsFor } from '../providers/ark/request.ts';
import { createComfyuiProvider } from '../providers/comfyui/comfyui.ts';
import { createFalProvider } from '../providers/fal/fal.ts';
import { FAL_MODELS } from '../providers/fal/model-input.ts';
import { instrumented, type Observer } from '../providers/host/instrumented.ts';
import { listTurns, type Quota, rateLimited } from '../providers/host/rate-limited.ts';
import { OUTPUT_BYTES } from '../providers/kit/open-output.ts';
import type { Capabilities, Provider } from '../providers/provider.ts';
import { REPLICATE_MODELS } from '../providers/replicate/model-input.ts';
import { createReplicateProvider } from '../providers/replicate/replicate.ts';
import type { Storage } from '../storage/storage.ts';
import type { Config } from './config.ts';
import {
  type ArkSettings,
  type ComfyuiSettings,
  type FalSettings,
  type OwnModels,
  type ReplicateSettings,
  variableFor,
} from './provider-config.ts';

export interface ProviderDeps {
  db: Database;
  storage: Storage;
  /** Opens results. */
  guardedFetch: GuardedFetch;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
  observer: Observer;
  submitTimeoutSeconds: number;
}

/**
 * Every provider of this process by its name: the local one, and the foreign ones that are
 * configured, each within its account's budgets and observed.
 * @throws UsageError, one line, when a setting can't be used
 */
export async function createProviders(
  config: Config,
  local: Provider,
  deps: ProviderDeps,
): Promise<Map<string, Provider>> {
  const { ark, fal, replicate, comfyui } = config.providerSettings;
  const { observer } = deps;
  const providers = [
    instrumented(local, observer),
    ark && arkProvider(ark, deps),
    fal && falProvider(fal, deps),
    replicate && replicateProvider(replicate, deps),
    comfyui && instrumented(await comfyuiProvider(comfyui, deps), observer),
  ];
  return new Map(providers.flatMap((provider) => (provider ? [[provider.name, provider]] : [])));
}

function arkProvider(settings: ArkSettings, deps: ProviderDeps): Provider {
  const { apiKey, baseUrl, models, markAttempts, submitsPerMinute } = settings;
  const quota = quotaOf('ark', apiKey, deps);
  const ark: Provider = createArkProvider({
    ...adapterDeps(deps, quota, () => ark.capabilities),
    ...{ apiKey, baseUrl, markAttempts, maxOutputBytes: OUTPUT_BYTES },
    models: withOwn(modelsFor(baseUrl), models),
  });
  const budgets = {
    ...ark.capabilities.budgets,
    submit: { callsPerSecond: submitsPerMinute / 60 },
  };
  const capabilities = { ...ark.capabilities, budgets };
  return rateLimited(instrumented({ ...ark, capabilities }, deps.observer), quota);
}

function falProvider(settings: FalSettings, deps: ProviderDeps): Provider {
  const { models, markAttempts: markWithEndUserId, ...own } = settings;
  const quota = quotaOf('fal', own.apiKey, deps);
  const fal: Provider = naming('FAL_MODEL, FAL_MODEL_FAST, FAL_MODEL_MINI', () =>
    createFalProvider({
      ...adapterDeps(deps, quota, () => fal.capabilities),
      ...{ ...own, markWithEndUserId, models: withOwn(FAL_MODELS, models) },
    }),
  );
  return rateLimited(instrumented(fal, deps.observer), quota);
}

function replicateProvider(settings: ReplicateSettings, deps: ProviderDeps): Provider {
  const { models, ...own } = settings;
  const quota = quotaOf('replicate', own.apiToken, deps);
  const replicate: Provider = createReplicateProvider({
    ...adapterDeps(deps, quota, () => replicate.capabilities),
    ...{ ...own, models: withOwn(REPLICATE_MODELS, models) },
  });
  return rateLimited(instrumented(replicate, deps.observer), quota);
}

async function comfyuiProvider(settings: ComfyuiSettings, deps: ProviderDeps): Promise<Provider> {
  const { workflowFiles, framesPerSecond, frameStep, ...own } = settings;
  const workflows = await Promise.all(workflowFiles.map(readWorkflow));
  return naming('COMFYUI_WORKFLOWS', () =>
    createComfyuiProvider({
      ...{ ...own, workflows, frameRules: { framesPerSecond, frameStep } },
      openInput: (objectId) => deps.storage.open(objectId),
      timeoutSeconds: deps.submitTimeoutSeconds,
      maxOutputBytes: OUTPUT_BYTES,
      now: deps.now,
    }),
  );
}

async function readWorkflow(file: string): Promise<{ name: string; text: string }> {
  try {
    return { name: file, text: await readFile(file, 'utf8') };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`COMFYUI_WORKFLOWS: a file can't be read: ${cause}`);
  }
}

/** What all adapters of foreign services are given alike. */
function adapterDeps(deps: ProviderDeps, quota: Quota, capabilities: () => Capabilities) {
  const { guardedFetch, now, submitTimeoutSeconds } = deps;
  const nextListTurn = listTurns(quota, capabilities);
  return { call: callOnce, guardedFetch, now, submitTimeoutSeconds, nextListTurn };
}

/** Two keys may belong to two accounts, each with budgets of its own; the key itself stays here. */
function quotaOf(provider: string, key: string, { db }: ProviderDeps): Quota {
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
  return { db, quota: `${provider} ${hash}` };
}

function withOwn<Id>(models: Record<keyof OwnModels, Id>, own: OwnModels) {
  return {
    'video-2.0': own['video-2.0'] ?? models['video-2.0'],
    'video-2.0-fast': own['video-2.0-fast'] ?? models['video-2.0-fast'],
    'video-2.0-mini': own['video-2.0-mini'] ?? models['video-2.0-mini'],
  };
}

/** Names the variables in what an adapter has against its settings. */
function naming(variables: string, create: () => Provider): Provider {
  try {
    return create();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${variables}: ${error.message}`, { cause: error });
  }
}

/** Warns of live tasks that this process can't go on with, and says what it lacks. */
export async function warnOfUnserved(
  providers: ReadonlyMap<string, Provider>,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  for (const { provider, tasks } of await unservedTasks(db, [...providers.keys()])) {
    const variable = variableFor(provider);
    const words = variable
      ? `live tasks were given to ${provider}, which is not configured: set ${variable}`
      : `live tasks were given to ${provider}, which is not known`;
    log.warn({ provider, tasks }, words);
  }
}
