import { availableParallelism } from 'node:os';
import { UsageError } from '../kernel/errors.ts';
import {
  bad,
  choice,
  type Environment,
  namingVariables,
  number,
  port,
  read,
  webAddress,
  wholeNumber,
  yesOrNo,
} from '../kernel/variables.ts';
import type { DecodedFrames } from '../media/measure.ts';
import { parseAllowList, parseDenyList, parsePorts } from '../outbound/addresses.ts';
import { parseDnsServers } from '../outbound/host-lookup.ts';
import { anyProviderVariable, PROVIDER_NAMES, readProviders } from '../providers/registry.ts';
import { readBilling } from './billing.ts';
import { readDatabaseConfig, readStorageSettings } from './command-config.ts';
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
  if (valid.length !== given.length) bad('ROLES', text, 'api, worker or api,worker');
  return new Set(valid);
}

function hostRules(env: Environment) {
  const parsed = <List>(name: string, parse: (text: string) => List, fallback = '') =>
    namingVariables(name, () => parse(read(env, name, fallback)));
  const deny = parsed('OUTBOUND_DENY', parseDenyList);
  const clientHosts = { allow: parsed('OUTBOUND_ALLOW', parseAllowList), deny };
  return {
    /** For the URLs of clients. */
    clientHosts,
    /** For the webhook endpoints of clients. */
    webhookHosts: { ...clientHosts, ports: parsed('WEBHOOK_PORTS', parsePorts, '443,1024-65535') },
    /** For the URLs of providers. */
    providerHosts: { allow: parsed('PROVIDER_ALLOW', parseAllowList), deny },
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
    /** Whether clients download outputs from the storage itself, or through the service. */
    deliveryMode,
    /** Whether providers download inputs from the storage itself. */
    presignsInputs,
  };
}

/**
 * The URL at which clients on this machine reach the service; undefined if the port is not known
 * yet.
 */
function addressOf({ host, port }: { host: string; port: number }): string | undefined {
  if (port === 0) return undefined;
  const reachable = ANY_HOST[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Addresses that mean all interfaces, each with the loopback address that reaches the server. */
const ANY_HOST: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * The value of PROVIDER. It has a default only for a trial: an installation with a database or a
 * provider of its own must not sell test patterns because a variable was forgotten.
 */
function providerOfNewTasks(env: Environment): string {
  const isSet = read(env, 'PROVIDER', '') !== '';
  const owned = read(env, 'DATABASE_URL', '') === '' ? anyProviderVariable(env) : 'DATABASE_URL';
  if (!isSet && owned !== undefined) {
    const names = PROVIDER_NAMES.join(', ');
    throw new UsageError(
      `PROVIDER is not set, but ${owned} is: set PROVIDER to one of ${names} ` +
        '(local makes test patterns, not AI videos, and takes credits for them)',
    );
  }
  return choice(env, 'PROVIDER', 'local', PROVIDER_NAMES);
}

/** The value of OUTPUT_CHECK. */
function outputFrames(env: Environment): DecodedFrames {
  const value = choice(env, 'OUTPUT_CHECK', 'keyframes', ['keyframes', 'full']);
  return value === 'full' ? 'all' : 'keyframes';
}

/** The value of HISTORY_DAYS; a provider may still report on a job for some days after its end. */
function historyDays(env: Environment): number | undefined {
  if (read(env, 'HISTORY_DAYS', '') === '') return undefined;
  return number(env, 'HISTORY_DAYS', 0, { min: 7, max: TEN_YEARS.days });
}

/** The value of PROCESSES: a number, or one for each core that this process may use. */
function apiProcesses(env: Environment): number {
  if (read(env, 'PROCESSES', '1') === 'auto') return availableParallelism();
  return wholeNumber(env, 'PROCESSES', 1, { min: 1, max: 256 });
}

/** Postgres is fastest with a few connections per core, whatever the number of processes. */
function connectionsEach(processes: number): number {
  return Math.max(8, Math.min(24, Math.ceil(48 / processes)));
}

/**
 * Reads all variables of the service. Only this folder reads the environment.
 * @throws UsageError, one line that names the variable, when a value is unknown or malformed
 */
export function readConfig(env: Environment = process.env) {
  const host = read(env, 'HOST', '127.0.0.1');
  const metrics = read(env, 'METRICS_PORT', 'off');
  const provider = providerOfNewTasks(env);
  const processes = apiProcesses(env);
  const listens = { host, port: port(env, 'PORT', '8080') };
  const config = {
    ...listens,
    metricsPort: metrics === 'off' ? undefined : port(env, 'METRICS_PORT', ''),
    /**
     * The URL at which clients and providers reach the service, without a slash at its end.
     * undefined with `PORT=0` and no PUBLIC_URL: the port is known only once the service listens.
     */
    publicUrl: webAddress(env, 'PUBLIC_URL') ?? addressOf(listens),
    ...readDatabaseConfig(env),
    /** How many processes serve the API; 1: this one does. */
    processes,
    /** The most connections of the pool of each process. */
    databaseConnections: wholeNumber(env, 'DATABASE_CONNECTIONS', connectionsEach(processes), {
      min: 4,
      max: 1000,
    }),
    /** Whether a replica that is promoted has every commit. */
    trustsPromotion:
      choice(env, 'DATABASE_REPLICAS', 'asynchronous', ['asynchronous', 'synchronous']) ===
      'synchronous',
    /** Whether a worker may start on a database that may forget commits. */
    databaseVolatile: yesOrNo(env, 'DATABASE_VOLATILE', 'no'),
    roles: roles(env),
    /** The name of the provider that gets new tasks. */
    provider,
    /** Every configured provider: a task stays with the provider that it was given to. */
    configuredProviders: readProviders(env, provider),
    createWaitSeconds: number(env, 'CREATE_WAIT_SECONDS', 20),
    submitTimeoutSeconds: number(env, 'SUBMIT_TIMEOUT_SECONDS', 30),
    submitRetrySeconds: number(env, 'SUBMIT_RETRY_SECONDS', 600),
    pollMinSeconds: number(env, 'POLL_MIN_SECONDS', 2, { min: 0.01 }),
    pollMaxSeconds: number(env, 'POLL_MAX_SECONDS', 15, { min: 0.01 }),
    reconcileSeconds: number(env, 'RECONCILE_SECONDS', 30, { min: 0.01 }),
    ...hostRules(env),
    /** For the names in URLs of clients and providers; empty: the system's. */
    dnsServers: parseDnsServers(read(env, 'OUTBOUND_DNS', '')),
    ...storageVariables(env),
    deliverySeconds: number(env, 'DELIVERY_SECONDS', 86_400, { max: TEN_YEARS.seconds }),
    retentionDays: number(env, 'RETENTION_DAYS', 30, { max: TEN_YEARS.days }),
    historyDays: historyDays(env),
    /** Which frames of an output are decoded before it is stored. */
    outputFrames: outputFrames(env),
    /** Whether workers draw a small picture of each output, for the website. */
    drawsPosters: yesOrNo(env, 'POSTERS', 'yes'),
    /** How long the API still accepts requests after the shutdown has begun. */
    drainSeconds: number(env, 'DRAIN_SECONDS', 1),
    shutdownSeconds: number(env, 'SHUTDOWN_SECONDS', 30),
    logLevel: choice(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    website: readWebsite(env),
    /** undefined: nothing is sold; operators grant credits. */
    stripe: readBilling(env),
    /** undefined: no traces. */
    tracing: readTracing(env),
  };
  if (config.pollMaxSeconds < config.pollMinSeconds) {
    bad('POLL_MAX_SECONDS', String(config.pollMaxSeconds), 'at least POLL_MIN_SECONDS');
  }
  requireLinkHost(config);
  return config;
}

/** @throws UsageError when the worker is in a process that never learns the port of the API */
function requireLinkHost({ publicUrl, roles, processes }: Config): void {
  const isApart = !roles.has('api') || (processes > 1 && roles.has('worker'));
  if (publicUrl !== undefined || !isApart) return;
  throw new UsageError(
    'PUBLIC_URL is not set, and PORT is 0: the links that the worker makes would have no host. ' +
      'Set PUBLIC_URL to the address at which clients reach the API, or PORT to its port',
  );
}

/** With libuv's four, a few syncs of a slow disk delay every other call to the file system. */
const FILE_THREADS = 16;

/**
 * Lets this process run more calls to the file system at a time, unless UV_THREADPOOL_SIZE says how
 * many. libuv reads the variable at the first such call, so call this before anything else.
 */
export function useFileThreads(env: Environment = process.env): void {
  env.UV_THREADPOOL_SIZE ??= String(FILE_THREADS);
}
