// The room config/: reads the environment, once, into a typed value. Nothing else reads it.

import { availableParallelism } from 'node:os';
import { UsageError } from '../kernel/errors.ts';
import {
  choice,
  type Environment,
  namingVariables,
  number,
  port,
  read,
  recordReads,
  refuseVariable,
  webAddress,
  wholeNumber,
  yesOrNo,
} from '../kernel/variables.ts';
import { parseAllowList, parseDenyList, parsePorts } from '../outbound/addresses.ts';
import { parseDnsServers } from '../outbound/host-lookup.ts';
import { refuseCollisions } from '../providers/connections.ts';
import {
  anyProviderVariable,
  namedConnections,
  PROVIDER_NAMES,
  readProviders,
} from '../providers/registry.ts';
import { readBilling } from './billing.ts';
import { readBrand } from './brand.ts';
import { readDatabaseConfig, readStorageSettings } from './command-config.ts';
import { readContentCredentials } from './content-credentials.ts';
import { readModelsFile } from './models-file.ts';
import { readModeration } from './moderation.ts';
import { readTracing } from './tracing.ts';
import { readWebsite } from './website.ts';

type Role = 'api' | 'worker';

/** The validated configuration of the service. Seconds and days may be fractions. */
export type Config = ReturnType<typeof readConfig>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const TEN_YEARS = { days: 3650, seconds: 315_360_000 };

function roles(env: Environment): ReadonlySet<Role> {
  const text = read(env, 'ROLES', 'api,worker');
  const given = text.split(',').map((role) => role.trim());
  const valid = given.filter((role): role is Role => role === 'api' || role === 'worker');
  if (valid.length !== given.length) refuseVariable('ROLES', text, 'api, worker or api,worker');
  return new Set(valid);
}

function hostRules(env: Environment) {
  const readParsed = <List>(name: string, parse: (text: string) => List, fallback = '') =>
    namingVariables(name, () => parse(read(env, name, fallback)));
  const deny = readParsed('OUTBOUND_DENY', parseDenyList);
  const clientHosts = { allow: readParsed('OUTBOUND_ALLOW', parseAllowList), deny };
  return {
    clientHosts,
    webhookHosts: {
      ...clientHosts,
      ports: readParsed('WEBHOOK_PORTS', parsePorts, '443,1024-65535'),
    },
    providerHosts: { allow: readParsed('PROVIDER_ALLOW', parseAllowList), deny },
  };
}

function storageVariables(env: Environment) {
  const storage = readStorageSettings(env);
  const fallback = storage.kind === 's3' ? 'redirect' : 'proxy';
  const deliveryMode = choice(env, 'DELIVERY_MODE', fallback, ['redirect', 'proxy']);
  const presignsInputs = choice(env, 'INPUT_LINKS', 'own', ['own', 'presigned']) === 'presigned';
  if (storage.kind === 'disk' && deliveryMode === 'redirect') {
    throw new UsageError('DELIVERY_MODE=redirect needs an S3 bucket: set STORAGE_URL');
  }
  if (storage.kind === 'disk' && presignsInputs) {
    throw new UsageError('INPUT_LINKS=presigned needs an S3 bucket: set STORAGE_URL');
  }
  return {
    storage,
    /** Whether clients download outputs straight from the storage, or through the service. */
    deliveryMode,
    /** Whether providers download inputs straight from the storage. */
    presignsInputs,
  };
}

/** Wildcard addresses, and the loopback address that reaches each. */
const ANY_HOST: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function addressOf(host: string, port: number): string {
  const reachable = ANY_HOST[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/**
 * The default is for trials: an installation with its own database or provider must not sell test
 * patterns because a variable was forgotten.
 */
function providerOfNewTasks(env: Environment): string {
  const isSet = read(env, 'PROVIDER', '') !== '';
  const isGiven = (name: string) => read(env, name, '') !== '';
  const ownVariable = ['DATABASE_URL', 'CONNECTIONS'].find(isGiven) ?? anyProviderVariable(env);
  if (!isSet && ownVariable !== undefined) {
    const names = PROVIDER_NAMES.join(', ');
    throw new UsageError(
      `PROVIDER is not set, but ${ownVariable} is: set PROVIDER to one of ${names} ` +
        '(local makes test patterns, not AI videos, and takes credits for them)',
    );
  }
  const connections = namedConnections(env).map(({ name }) => name);
  return choice(env, 'PROVIDER', 'local', [...PROVIDER_NAMES, ...connections]);
}

/** Has a minimum, since a provider may report on a job days after its end. */
function historyDays(env: Environment): number | undefined {
  if (read(env, 'HISTORY_DAYS', '') === '') return undefined;
  return number(env, 'HISTORY_DAYS', 0, { min: 7, max: TEN_YEARS.days });
}

function apiProcesses(env: Environment): number {
  if (read(env, 'PROCESSES', '1') === 'auto') return availableParallelism();
  return wholeNumber(env, 'PROCESSES', 1, { min: 1, max: 256 });
}

/** Postgres is fastest with a few connections per core, whatever the number of processes. */
function connectionsEach(processes: number): number {
  return Math.max(8, Math.min(24, Math.ceil(48 / processes)));
}

/** @throws UsageError, one line that names the variable, when a value is unknown or malformed */
export function readConfig(given: Environment = process.env) {
  const variablesRead = new Set<string>();
  const env = recordReads(given, variablesRead);
  const host = read(env, 'HOST', '127.0.0.1');
  const metrics = read(env, 'METRICS_PORT', 'off');
  const provider = providerOfNewTasks(env);
  const processes = apiProcesses(env);
  const ownPort = port(env, 'PORT', '8080');
  const hosts = hostRules(env);
  const config = {
    host,
    port: ownPort,
    metricsPort: metrics === 'off' ? undefined : port(env, 'METRICS_PORT', ''),
    /** Without a trailing slash; undefined: the port is known only once the service listens. */
    publicUrl: webAddress(env, 'PUBLIC_URL') ?? (ownPort ? addressOf(host, ownPort) : undefined),
    ...readDatabaseConfig(env),
    /** How many processes serve the API; 1: no child processes. */
    processes,
    databaseConnections: wholeNumber(env, 'DATABASE_CONNECTIONS', connectionsEach(processes), {
      min: 4,
      max: 1000,
    }),
    /** Whether a promoted replica has every commit. */
    trustsPromotion:
      choice(env, 'DATABASE_REPLICAS', 'asynchronous', ['asynchronous', 'synchronous']) ===
      'synchronous',
    /** Whether a worker may start on a database that can lose commits. */
    databaseVolatile: yesOrNo(env, 'DATABASE_VOLATILE', 'no'),
    roles: roles(env),
    provider,
    /** All connections to providers. Tasks stay with the one that got them. */
    configuredProviders: readProviders(given, provider, variablesRead),
    /** undefined: models are added by operators' commands only. */
    modelsFile: readModelsFile(env),
    createWaitSeconds: number(env, 'CREATE_WAIT_SECONDS', 20),
    submitTimeoutSeconds: number(env, 'SUBMIT_TIMEOUT_SECONDS', 30),
    submitRetrySeconds: number(env, 'SUBMIT_RETRY_SECONDS', 600),
    pollMinSeconds: number(env, 'POLL_MIN_SECONDS', 2, { min: 0.01 }),
    pollMaxSeconds: number(env, 'POLL_MAX_SECONDS', 15, { min: 0.01 }),
    reconcileSeconds: number(env, 'RECONCILE_SECONDS', 30, { min: 0.01 }),
    ...hosts,
    /** Resolves hosts in URLs of clients and providers; empty: the system's resolver. */
    dnsServers: parseDnsServers(read(env, 'OUTBOUND_DNS', '')),
    ...storageVariables(env),
    deliverySeconds: number(env, 'DELIVERY_SECONDS', 86_400, { max: TEN_YEARS.seconds }),
    retentionDays: number(env, 'RETENTION_DAYS', 30, { max: TEN_YEARS.days }),
    /** How long digests and hashes of outputs outlive their files. */
    fingerprintDays: number(env, 'FINGERPRINT_DAYS', 365, { max: TEN_YEARS.days }),
    historyDays: historyDays(env),
    /** Which frames of an output are decoded before it is stored. */
    outputFrames:
      choice(env, 'OUTPUT_CHECK', 'keyframes', ['keyframes', 'full']) === 'full'
        ? ('all' as const)
        : ('keyframes' as const),
    drawsPosters: yesOrNo(env, 'POSTERS', 'yes'),
    /** undefined: outputs are stored as the provider made them. */
    contentCredentials: readContentCredentials(env, hosts.clientHosts),
    /** How long the API still accepts requests after a shutdown has begun. */
    drainSeconds: number(env, 'DRAIN_SECONDS', 1),
    shutdownSeconds: number(env, 'SHUTDOWN_SECONDS', 30),
    logLevel: choice(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    moderation: readModeration(env, hosts.clientHosts),
    website: readWebsite(env),
    /** Wins over the brand that operators set. */
    brand: readBrand(env),
    stripe: readBilling(env),
    tracing: readTracing(env),
  };
  if (config.pollMaxSeconds < config.pollMinSeconds) {
    refuseVariable('POLL_MAX_SECONDS', String(config.pollMaxSeconds), 'at least POLL_MIN_SECONDS');
  }
  requireLinkHost(config);
  refuseCollisions(namedConnections(env), variablesRead);
  return config;
}

/** @throws UsageError when the worker runs in a process that never learns the API's port */
function requireLinkHost({ publicUrl, roles, processes }: Config): void {
  const isApart = !roles.has('api') || (processes > 1 && roles.has('worker'));
  if (publicUrl !== undefined || !isApart) return;
  throw new UsageError(
    'PUBLIC_URL is not set, and PORT is 0: the links that the worker makes would have no host. ' +
      'Set PUBLIC_URL to the address at which clients reach the API, or PORT to its port',
  );
}

/**
 * With libuv's four threads, a few syncs on a slow disk delay every other file system call. libuv
 * reads the variable at the first such call, so call this first.
 */
export function useFileThreads(env: Environment = process.env): void {
  env.UV_THREADPOOL_SIZE ??= '16';
}
