import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HEADING = '### Permissions of a restricted key';

/** Calls of Stripe's package, such as `checkout.sessions.create`. */
async function callsOfService(): Promise<Set<string>> {
  const folder = path.join(ROOT, 'server/src');
  const names = await readdir(folder, { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const texts = await Promise.all(sources.map((name) => readFile(path.join(folder, name), 'utf8')));
  const calls = texts.flatMap((text) =>
    [...text.matchAll(/\bstripe((?:\s*\.\s*[a-zA-Z]+){2,})\s*\(/g)].map(([, members = '']) =>
      members.replaceAll(/\s/g, '').slice(1),
    ),
  );
  // It asks nobody: it checks a signature.
  return new Set(calls.filter((call) => call !== 'webhooks.constructEvent'));
}

/** The rows of the table: the access that each permission gives, and its calls. */
async function rowsOfPage() {
  const text = await readFile(path.join(ROOT, 'docs/operators/billing.md'), 'utf8');
  const [, section = ''] = text.split(HEADING);
  const [table = ''] = section.split(/\n\*\*|\n## /);
  return [...table.matchAll(/^\| ([^|]+) \| (read|write) \| ([^|]+) \|$/gm)].map(
    ([, permission = '', access = '', calls = '']) => ({
      permission,
      access,
      calls: [...calls.matchAll(/`(\w+(?:\.\w+)+)`/g)].map(([, call = '']) => call),
    }),
  );
}

test('the page lists the permissions that the calls of Stripe need, and no others', async () => {
  const rows = await rowsOfPage();
  const listed = new Set(rows.flatMap(({ calls }) => calls));
  assert.deepEqual([...listed].toSorted(), [...(await callsOfService())].toSorted());
  for (const { permission, access, calls } of rows) {
    const reads = calls.every((call) => /\.(retrieve|list)\w*$/.test(call));
    assert.equal(access, reads ? 'read' : 'write', permission);
  }
});
