import path from 'node:path';
import { UsageError } from '../kernel/errors.ts';
import { choice, type Environment, namingVariables, read } from '../kernel/variables.ts';
import type { StorageSettings } from '../storage/open-storage.ts';
import { parseS3Url } from '../storage/s3/settings.ts';

// The settings of operator commands. This file imports no provider: a command would take half as
// long again.

export type DatabaseConfig = ReturnType<typeof readDatabaseConfig>;

export function readDatabaseConfig(env: Environment = process.env) {
  const config = {
    dataDir: path.resolve(read(env, 'DATA_DIR', './.data')),
    /** undefined: the embedded database. */
    databaseUrl: databaseUrl(env, 'DATABASE_URL'),
    /** The address of Postgres itself, if `databaseUrl` is a connection pooler; else undefined. */
    databaseDirectUrl: databaseUrl(env, 'DATABASE_DIRECT_URL'),
    poolerStatements: choice(env, 'POOLER_STATEMENTS', 'named', ['named', 'unnamed']),
  };
  if (config.databaseDirectUrl !== undefined && config.databaseUrl === undefined) {
    throw new UsageError(
      'DATABASE_DIRECT_URL is set, but DATABASE_URL is not: set DATABASE_URL to the address of ' +
        'the connection pooler, or leave both unset for the embedded database',
    );
  }
  return config;
}

function databaseUrl(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  if (text === '') return undefined;
  if (!/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')) {
    // Without the value, which may contain a password.
    throw new UsageError(`${name} is not valid: expected postgres://user:password@host/name`);
  }
  return text;
}

export function readStorageSettings(env: Environment = process.env): StorageSettings {
  const text = read(env, 'STORAGE_URL', '');
  const folder = path.join(path.resolve(read(env, 'DATA_DIR', './.data')), 'objects');
  return text === ''
    ? { kind: 'disk', folder }
    : { kind: 's3', s3: namingVariables('STORAGE_URL', () => parseS3Url(text)) };
}

/** Imports the registry lazily: only `models import` needs it. */
export async function readVendorModels(
  provider: string,
  connection?: string,
  env: Environment = process.env,
) {
  const { listVendorModels } = await import('../providers/registry.ts');
  return listVendorModels(env, provider, connection);
}

/** Imports `readBrand` lazily: only the commands about the brand need it. */
export async function readBrandVariables(env: Environment = process.env) {
  const { readBrand } = await import('./brand.ts');
  return readBrand(env);
}
