import { createHash } from 'node:crypto';
import type { VendorModel } from '../catalog/proposed-model.ts';
import type { Transaction } from '../database/database.ts';
import { Refusal, UsageError } from '../kernel/errors.ts';
import { nearestName } from '../kernel/nearest-name.ts';
import { type Environment, number, read, recordReads } from '../kernel/variables.ts';
import { ark } from './ark/index.ts';
import { type ProviderBreaker, reportingOutcomes } from './circuit-breaker/breaker.ts';
import { comfyui } from './comfyui/index.ts';
import {
  environmentOf,
  type ProviderConnection,
  prefixOf,
  readConnections,
  renameVariables,
  withVariablesOf,
} from './connections.ts';
import type { AdapterDeps, NeededVariable, ProviderDefinition } from './definition.ts';
import { fal } from './fal/index.ts';
import { instrumented } from './instrumented.ts';
import { local, scripted } from './local/index.ts';
import { openrouter } from './openrouter/index.ts';
import type { HostedProvider } from './provider.ts';
import { listTurns, rateLimited } from './rate-limiter/rate-limited.ts';
import { replicate } from './replicate/index.ts';

/** All providers that PROVIDER can name: the only list of them. */
const REGISTRY = [row(local), row(ark), row(fal), row(replicate), row(openrouter), row(comfyui)];
/** The provider of test keys, which is always configured and can't be chosen. */
const OF_TEST_KEYS = row(scripted);

/** Hides the type of a definition's settings, so that all definitions fit in one list. */
function row<Settings>(definition: ProviderDefinition<Settings>) {
  const { name, needs, ownJobs, fields, fetchesInputs, listModels } = definition;
  return {
    name,
    needs,
    ownJobs,
    fields,
    listModels,
    /** Reads a connection's variables. @returns undefined if it is not configured */
    configure(given: Environment, connection: ProviderConnection = { name, kind: name }) {
      const env = environmentOf(given, connection);
      const isConfigurable = needs.length > 0;
      const policy: Policy = isConfigurable ? readPolicy(env, name) : {};
      const settings = definition.readSettings(env);
      if (settings === undefined) return undefined;
      /** See {@link ProviderDefinition.baseUrls}; by the names of the connection's variables. */
      const baseUrls = Object.fromEntries(
        Object.entries(definition.baseUrls(settings)).map(([variable, url]) => {
          return [variable.replace(prefixOf(name), prefixOf(connection.name)), url];
        }),
      );
      return { ...connection, fetchesInputs, baseUrls, definition, settings, policy };
    },
  };
}

type ConfiguredProvider = NonNullable<ReturnType<ReturnType<typeof row>['configure']>>;

interface ProviderDeps extends Omit<AdapterDeps, 'nextListTurn'> {
  breaker: Pick<ProviderBreaker, 'observe'>;
}

async function createProvider(
  { name, definition, settings, policy }: ConfiguredProvider,
  { breaker, ...deps }: ProviderDeps,
): Promise<HostedProvider> {
  const quota = { db: deps.db, name: quotaName(definition.name, definition.apiKey(settings)) };
  // A function, because the adapter does not exist yet.
  const nextListTurn = listTurns(quota, () => adapter.capabilities);
  const adapter = await definition.create(settings, { ...deps, nextListTurn });
  const provider = { ...adapter, name };
  if (definition.isForTestKeys) return provider;
  return {
    ...rateLimited(reportingOutcomes(instrumented(provider), breaker), quota),
    ...policy,
  };
}

/** Rate limits are per API key; only a hash of the key is stored. */
function quotaName(provider: string, apiKey: string | undefined): string {
  if (apiKey === undefined) return provider;
  const hash = createHash('sha256').update(apiKey).digest('hex').slice(0, 12);
  return `${provider} ${hash}`;
}

/** @throws UsageError, one line, when a setting can't be used */
export async function createProviders(
  configured: ConfiguredProvider[],
  deps: ProviderDeps,
): Promise<Map<string, HostedProvider>> {
  const providers = new Map<string, HostedProvider>();
  for (const connection of configured) {
    const provider = await withVariablesOf(connection, () => createProvider(connection, deps));
    const sameKind = configured
      .filter(({ kind }) => kind === connection.kind)
      .map(({ name }) => name);
    providers.set(connection.name, { ...provider, sameKind });
  }
  return providers;
}

type Policy = Pick<HostedProvider, 'assumeAbsentAfterHours'>;

/** After how many hours (at most a year) a weak absence counts; never by default. */
function readPolicy(env: Environment, provider: string): Policy {
  const name = `${provider.toUpperCase()}_ASSUME_ABSENT_AFTER_HOURS`;
  if (read(env, name, 'never') === 'never') return {};
  return { assumeAbsentAfterHours: number(env, name, 0, { min: 1, max: 8760 }) };
}

/** The names of all providers. Each provider also has a connection of its own name. */
export const PROVIDER_NAMES: readonly string[] = REGISTRY.map(({ name }) => name);

/** Providers that need variables: all but those that are built in. */
const CONFIGURABLE = REGISTRY.filter(({ needs }) => needs.length > 0);

/**
 * The connections that CONNECTIONS names. None can be `creates`, under which all creates are
 * paused.
 */
export function namedConnections(env: Environment): ProviderConnection[] {
  const kinds = CONFIGURABLE.map(({ name }) => name);
  return readConnections(env, kinds, [...PROVIDER_NAMES, OF_TEST_KEYS.name, 'creates']);
}

/** The field tables of the providers that have a docs page. */
export const FIELD_TABLES = REGISTRY.flatMap(({ name, fields }) =>
  fields ? { name, fields } : [],
);

const OWN_JOBS = REGISTRY.flatMap(({ ownJobs }) => ownJobs ?? []);

/** SQL: whether any of these attempts has a running job that is kept in this database. */
export function runsJob(attemptIds: string): string {
  return OWN_JOBS.map((jobs) => jobs.isRunning(attemptIds)).join(' or ');
}

export async function deleteJobs(tx: Transaction, attemptIds: string[]): Promise<void> {
  for (const jobs of OWN_JOBS) await jobs.deleteOf(tx, attemptIds);
}

export async function eraseJobs(tx: Transaction, attemptIds: string[]): Promise<void> {
  for (const jobs of OWN_JOBS) await jobs.eraseOf(tx, attemptIds);
}

/** The variables that a connection needs; none if the name is not known. */
export function neededVariables(name: string, kind = name): NeededVariable[] {
  const { needs = [] } = REGISTRY.find((row) => row.name === kind) ?? {};
  return needs.map(({ variable, wanted }) => {
    return { variable: variable.replace(prefixOf(kind), prefixOf(name)), wanted };
  });
}

/** The first variable that is set among those that providers need. */
export function anyProviderVariable(env: Environment): string | undefined {
  const variables = REGISTRY.flatMap(({ needs }) => needs);
  return variables.find(({ variable }) => read(env, variable, '') !== '')?.variable;
}

/**
 * Reads the variables of all connections: one for each provider, and those of CONNECTIONS.
 * @param chosen the connection of new tasks, which must be configured
 * @param known gets the names of the providers' own variables
 * @returns the connections that are configured
 * @throws UsageError, one line that names the variable, when a needed variable is missing, when one
 *   with the prefix of a provider or connection is unknown, or when a value is malformed, even of a
 *   provider that is not configured
 */
export function readProviders(
  env: Environment,
  chosen: string,
  known = new Set<string>(),
): ConfiguredProvider[] {
  const connections = namedConnections(env);
  const ofProviders = [...REGISTRY, OF_TEST_KEYS].flatMap(
    ({ configure }) => configure(recordReads(env, known)) ?? [],
  );
  const all = new Set(known);
  const ofConnections = connections.flatMap((connection) => {
    return configureConnection(recordReads(env, all), connection) ?? [];
  });
  const configured = [...ofProviders, ...ofConnections];
  const names = [...CONFIGURABLE.map(({ name }) => name), ...connections.map(({ name }) => name)];
  const prefixes = names.map(prefixOf).sort((a, b) => b.length - a.length); // FAL_2_ before FAL_
  refuseUnknown(env, prefixes, all);
  requireComplete(env, connectionOf(connections, chosen), `PROVIDER=${chosen}`);
  for (const { name, kind } of ofProviders) {
    const [first] = neededVariables(name);
    if (first) requireComplete(env, { name, kind }, first.variable);
  }
  for (const connection of connections) {
    requireComplete(env, connection, `CONNECTIONS with ${connection.name}`);
  }
  return configured;
}

function configureConnection(env: Environment, connection: ProviderConnection) {
  try {
    return REGISTRY.find(({ name }) => name === connection.kind)?.configure(env, connection);
  } catch (error) {
    throw renameVariables(connection, error);
  }
}

/** The connection of this name: one of CONNECTIONS, or else the provider's own. */
function connectionOf(connections: ProviderConnection[], name: string): ProviderConnection {
  return connections.find((connection) => connection.name === name) ?? { name, kind: name };
}

/**
 * Reads the list of video models of a provider.
 * @param name the provider's connection, whose variables say where the list is
 * @throws UsageError, one line; Refusal of `provider` or `connection`
 */
export async function listVendorModels(
  env: Environment,
  kind: string,
  name = kind,
): Promise<VendorModel[]> {
  const { listModels } = REGISTRY.find((row) => row.name === kind) ?? {};
  if (!listModels) {
    const able = REGISTRY.filter((row) => row.listModels).map((row) => row.name);
    throw new Refusal('provider', kind, `must be a provider with a list of models: ${able}`);
  }
  const connection = connectionOf(namedConnections(env), name);
  if (connection.kind !== kind) {
    throw new Refusal('connection', name, `must be ${kind}, or a connection of that kind`);
  }
  return withVariablesOf(connection, () => listModels(environmentOf(env, connection)));
}

/** A misspelt variable must not be ignored: the service would run with another setting. */
function refuseUnknown(env: Environment, prefixes: string[], known: ReadonlySet<string>): void {
  for (const prefix of prefixes) {
    const own = [...known].filter((name) => name.startsWith(prefix));
    const set = Object.keys(env).filter((name) => read(env, name, '') !== '');
    const unknown = set.find((name) => name.startsWith(prefix) && !known.has(name));
    if (unknown === undefined) continue;
    throw new UsageError(
      `${unknown} is not a variable of this service: did you mean ${nearestName(unknown, own)}? ` +
        `Variables that begin with ${prefix} must be known; unset it if it is not for Framewright`,
    );
  }
}

function requireComplete(env: Environment, { name, kind }: ProviderConnection, why: string): void {
  for (const { variable, wanted } of neededVariables(name, kind)) {
    if (read(env, variable, '') !== '') continue;
    throw new UsageError(`${variable} is not set: ${why} needs ${wanted}`);
  }
}
