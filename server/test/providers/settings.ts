import assert from 'node:assert/strict';
import { UsageError } from '../../src/kernel/errors.ts';
import type { AdapterDeps, ProviderDefinition } from '../../src/providers/definition.ts';
import { quiet } from '../database.ts';

/** Malformed values of variables, by what a variable holds. */
export const MALFORMED = {
  address: ['ark.example.com', 'ftp://x', 'https://x/?a=b', 'https://ada:hunter2@x'],
  model: ['a b', '/a', 'a//b', 'a?b', 'a#b', 'a/'],
  secret: ['hunter2\u00e9', 'hunter2\nx', 'hunter2\u0000'],
};

/** Whether an operator's error is one line that has each of these texts, and repeats no secret. */
export function isOneLineAbout(...texts: (string | RegExp)[]): (error: unknown) => boolean {
  const isIn = (text: string | RegExp, line: string) =>
    typeof text === 'string' ? line.includes(text) : text.test(line);
  return (error) =>
    error instanceof UsageError &&
    !/\n|hunter2/.test(error.message) &&
    texts.every((text) => isIn(text, error.message));
}

/** Asserts that each value is refused by a line that names its variable and repeats no secret. */
export function assertRefused(
  definition: Pick<ProviderDefinition<unknown>, 'readSettings'>,
  malformed: Record<string, string[]>,
): void {
  for (const [name, values] of Object.entries(malformed)) {
    for (const value of values) {
      const read = () => definition.readSettings({ [name]: value });
      assert.throws(read, isOneLineAbout(name), `${name}=${value}`);
    }
  }
}

/** Dependencies that fail the test when a provider calls one while it is created. */
export function unusedDeps(): AdapterDeps {
  const unexpected = () => {
    throw new Error('unexpected call');
  };
  return {
    db: { query: unexpected, transaction: unexpected, snapshot: unexpected, close: unexpected },
    storage: {
      put: unexpected,
      open: unexpected,
      sizeOf: unexpected,
      delete: unexpected,
    },
    scratch: { withFolder: unexpected, withFiles: unexpected, maintain: unexpected },
    log: quiet,
    guardedFetch: { download: unexpected, close: unexpected },
    now: unexpected,
    submitTimeoutSeconds: 1,
    nextListTurn: unexpected,
  };
}

/** The settings of a provider that is configured. */
export function settingsFrom<Settings>(
  definition: ProviderDefinition<Settings>,
  env: Record<string, string>,
): Settings {
  return definition.readSettings(env) ?? assert.fail(`${definition.name} is not configured`);
}

/** Builds a provider from an environment, as the service does. */
export async function createFrom<Settings>(
  definition: ProviderDefinition<Settings>,
  env: Record<string, string>,
) {
  return definition.create(settingsFrom(definition, env), unusedDeps());
}
