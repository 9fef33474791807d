import path from 'node:path';
import { UsageError } from './kernel/errors.ts';
import { type AllowList, parseAllowList } from './outbound/addresses.ts';

export type Role = 'api' | 'worker';

/** The service's configuration, checked. Seconds and days may be fractions. */
export interface Config {
  host: string;
  port: number;
  metricsPort: number | undefined;
  /** How clients and providers reach it, without a slash at its end; undefined: as it listens. */
  publicUrl: string | undefined;
  dataDir: string;
  /** undefined: the embedded database. */
  databaseUrl: string | undefined;
  roles: ReadonlySet<Role>;
  provider: 'local';
  createWaitSeconds: number;
  submitTimeoutSeconds: number;
  submitRetrySeconds: number;
  pollMinSeconds: number;
  pollMaxSeconds: number;
  reconcileSeconds: number;
  outboundAllow: AllowList;
  /** The entries of OUTBOUND_ALLOW as written, for the warning. */
  outboundAllowText: string;
  deliverySeconds: number;
  retentionDays: number;
  shutdownSeconds: number;
  logLevel: string;
}

type Environment = Record<string, string | undefined>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
/** The providers there are. */
const PROVIDERS = ['local'];

function bad(name: string, text: string, wanted: string): never {
  throw new UsageError(`${name}=${JSON.stringify(text)} is not valid: it wants ${wanted}`);
}

/** A variable that is missing or empty counts as not set. */
function read(env: Environment, name: string, fallback: string): string {
  return env[name]?.trim() || fallback;
}

/** A timer of Node's that is to wait for longer than 24.8 days fires at once. */
const MAX_WAIT = 2_000_000;
const TEN_YEARS = { days: 3650, seconds: 315_360_000 };

function number(
  env: Environment,
  name: string,
  fallback: number,
  { min = 0, max = MAX_WAIT }: { min?: number; max?: number } = {},
): number {
  const text = read(env, name, String(fallback));
  const value = /^\d+(\.\d+)?$|^\.\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) bad(name, text, `a number from ${min} to ${max}`);
  return value;
}

function port(env: Environment, name: string, fallback: string): number {
  const text = read(env, name, fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) bad(name, text, 'a port number, 0 to 65535');
  return value;
}

function choice(env: Environment, name: string, fallback: string, values: string[]): string {
  const text = read(env, name, fallback);
  if (!values.includes(text)) bad(name, text, values.join(', '));
  return text;
}

function roles(env: Environment): ReadonlySet<Role> {
  const text = read(env, 'ROLES', 'api,worker');
  const given = text.split(',').map((role) => role.trim());
  const valid = given.filter((role): role is Role => role === 'api' || role === 'worker');
  if (valid.length !== given.length) bad('ROLES', text, 'api, worker or api,worker');
  return new Set(valid);
}

function webAddress(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url?.password || url?.username || text.includes('@')) {
    // The value is not repeated: it may hold a password.
    throw new UsageError(`${name} is not valid: it wants an address without a user and password`);
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    bad(name, text, 'an address such as https://video.example.com');
  }
  return url.href.replace(/\/+$/, '');
}

function databaseUrl(env: Environment): string | undefined {
  const text = read(env, 'DATABASE_URL', '');
  if (text === '') return undefined;
  if (!/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')) {
    // The value is not repeated: it holds a password.
    throw new UsageError('DATABASE_URL is not valid: it wants postgres://user:password@host/name');
  }
  return text;
}

/**
 * Reads the environment: the only place that does.
 * @throws UsageError, one line that names the variable, when a value is unknown or malformed
 */
export function readConfig(env: Environment = process.env): Config {
  const host = read(env, 'HOST', '127.0.0.1');
  const metrics = read(env, 'METRICS_PORT', 'off');
  if (read(env, 'STORAGE_URL', '') !== '') {
    throw new UsageError(
      'STORAGE_URL is not supported yet: leave it unset to store under DATA_DIR',
    );
  }
  choice(env, 'PROVIDER', 'local', PROVIDERS);
  const config: Config = {
    host,
    port: port(env, 'PORT', '8080'),
    metricsPort: metrics === 'off' ? undefined : port(env, 'METRICS_PORT', ''),
    publicUrl: webAddress(env, 'PUBLIC_URL'),
    dataDir: path.resolve(read(env, 'DATA_DIR', './.data')),
    databaseUrl: databaseUrl(env),
    roles: roles(env),
    provider: 'local',
    createWaitSeconds: number(env, 'CREATE_WAIT_SECONDS', 20),
    submitTimeoutSeconds: number(env, 'SUBMIT_TIMEOUT_SECONDS', 30),
    submitRetrySeconds: number(env, 'SUBMIT_RETRY_SECONDS', 600),
    pollMinSeconds: number(env, 'POLL_MIN_SECONDS', 2, { min: 0.01 }),
    pollMaxSeconds: number(env, 'POLL_MAX_SECONDS', 15, { min: 0.01 }),
    reconcileSeconds: number(env, 'RECONCILE_SECONDS', 30, { min: 0.01 }),
    outboundAllow: parseAllowList(read(env, 'OUTBOUND_ALLOW', '')),
    outboundAllowText: read(env, 'OUTBOUND_ALLOW', ''),
    deliverySeconds: number(env, 'DELIVERY_SECONDS', 86_400, { max: TEN_YEARS.seconds }),
    retentionDays: number(env, 'RETENTION_DAYS', 30, { max: TEN_YEARS.days }),
    shutdownSeconds: number(env, 'SHUTDOWN_SECONDS', 30),
    logLevel: choice(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
  };
  if (config.pollMaxSeconds < config.pollMinSeconds) {
    bad('POLL_MAX_SECONDS', String(config.pollMaxSeconds), 'at least POLL_MIN_SECONDS');
  }
  return config;
}
