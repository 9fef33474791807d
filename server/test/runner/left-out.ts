import path from 'node:path';
import type { Amount } from './thorough.ts';

/** Files that repeat what files of CI show with less work: `FRAMEWRIGHT_TESTS=all` runs them. */
export const ONLY_IN_ALL: readonly string[] = [
  'server/test/faults/heavy-media.test.ts',
  'server/test/faults/silent-names.test.ts',
  'server/test/media/ingest-memory.test.ts',
  'server/test/media/linked-packages.test.ts',
];

/** Files that CI runs and the quick run does not. docs/testing.md groups them. */
export const ONLY_IN_CI: readonly string[] = [
  'clients/ai-sdk/test/*.test.ts',
  'clients/cli/test/{killed,packed}.test.ts',
  'clients/mcp/test/*.test.ts',
  'clients/typescript/test/{many-runs,package}.test.ts',
  'console/build.test.ts',
  'console/test/{credits,gallery,keys,operator,playground,settings,shell,sign-in}.test.ts',
  'console/test/{docs-pages,public-pages}.test.ts',
  'embedded-postgres/embedded-postgres.test.ts',
  'local-renderer/render.test.ts',
  'server/test/crash/{fencing,full-disk-uploads}.test.ts',
  'server/test/docs/reference-samples.test.ts',
  'server/test/faults/{forged-keys,polls-beside-submits}.test.ts',
  'server/test/faults/{frozen-database,promoted-replica,restored}.test.ts',
  'server/test/faults/{provider-outage,rolling-restart,rolling-upgrade}.test.ts',
  'server/test/media/ingest-limits.test.ts',
  'server/test/service/{demo,observability,processes}.test.ts',
  'simulators/{ark/ark,kit/options}.test.ts',
];

/** Whether a whole run of this amount leaves the file out. */
export function isLeftOut(file: string, amount: Amount): boolean {
  if (amount === 'all') return false;
  if (ONLY_IN_ALL.includes(file)) return true;
  return amount === 'quick' && ONLY_IN_CI.some((glob) => path.matchesGlob(file, glob));
}

/** What a whole run says at its end: what it has not tested, and how to run that. */
export function leftOutLine(amount: Amount, { files, tests }: { files: number; tests: number }) {
  if (amount === 'all') return 'All tests were run, with all repetitions';
  const most = `${files} files and ${tests} tests were left out`;
  const all = 'FRAMEWRIGHT_TESTS=all npm test';
  return amount === 'ci'
    ? `${most}, which repeat others: ${all} runs them`
    : `This was the quick run: ${most}. FRAMEWRIGHT_TESTS=ci npm test runs what CI runs, ${all} the rest`;
}
