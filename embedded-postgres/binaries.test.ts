import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findBinaries, linkLibraries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import { temporaryFolder } from './test/temporary-folder.ts';

test('on a platform without a packaged Postgres the error says to set DATABASE_URL', async () => {
  await assert.rejects(findBinaries('plan9', 'mips'), (error: unknown) => {
    assert.ok(error instanceof EmbeddedPostgresError);
    assert.match(error.message, /plan9-mips.*DATABASE_URL/);
    return true;
  });
});

test('Postgres runs from a package whose install script did not run', async (t) => {
  const native = join(await temporaryFolder(t), 'native');
  const { postgres } = await findBinaries();
  await cp(dirname(dirname(postgres)), native, {
    recursive: true,
    // Without links, as npm unpacks it.
    filter: (source) =>
      !/\.so(\.\d+)?$/.test(source) ||
      /lib(crypto|ssl|z|xml2|lzma|xslt|ossp)/.test(source) ||
      source.includes('/postgresql/'),
  });
  await Promise.all([linkLibraries(native), linkLibraries(native)]);
  await linkLibraries(native);
  assert.ok((await readdir(join(native, 'lib'))).includes('libicuuc.so.60'));
  const version = execFileSync(join(native, 'bin', 'postgres'), ['--version'], {
    encoding: 'utf8',
  });
  assert.match(version, /^postgres \(PostgreSQL\) 18\./);
});
