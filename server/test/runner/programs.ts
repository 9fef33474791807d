import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A file that takes longer is ended and fails. */
export const FILE_LIMIT_MS = 8 * 60_000;

/** How long each slow file took in a whole run, in seconds. */
const TIMES = new URL('file-seconds.json', import.meta.url);

/**
 * Files with a process of their own. Some kill what runs beside them, some look at all of their
 * process: its memory, its children, its statements. Those that mostly wait for other processes are
 * here as well, so that no file waits with them.
 */
const ALONE = [
  '{clients,console,embedded-postgres}/**',
  'server/test/{crash,database-plans,faults,media,pooler,service,simulation}/**',
  'server/src/kernel/{child,scratch-directory}.test.ts',
  'server/src/framewright.test.ts',
];
/** Other files have no entry in the record. */
const SLOW_SECONDS = 5;
/** So does a file that takes this long, so that it can begin early. */
const LONG_SECONDS = 12;
/** How many processes share the other files, and how many files they share at least. */
const GROUPS = 4;
const GROUP_FILES = 8;

async function recordedTimes(): Promise<Record<string, number>> {
  return JSON.parse(await readFile(TIMES, 'utf8'));
}

/** Writes down how long the files of a whole run took, and keeps the times of those it left out. */
export async function recordTimes(taken: [file: string, seconds: number][]): Promise<void> {
  const all = { ...(await recordedTimes()), ...Object.fromEntries(taken) };
  const slow = Object.entries(all)
    .filter(([file, seconds]) => seconds >= SLOW_SECONDS && existsSync(file))
    .toSorted(([, a], [, b]) => b - a)
    .map(([file, seconds]) => [file, Math.round(seconds)]);
  await writeFile(TIMES, `${JSON.stringify(Object.fromEntries(slow), null, 2)}\n`);
}

interface Program {
  file: string;
  seconds: number;
}

interface Group {
  files: string[];
  seconds: number;
}

/** The programs of a run, the longest first: a long one that began last would run alone. */
export async function programsFor(
  files: string[],
  { home, mayShare }: { home: string; mayShare: boolean },
): Promise<string[]> {
  const recorded = await recordedTimes();
  const secondsOf = (file: string) => recorded[file] ?? 1;
  const isAlone = (file: string) =>
    secondsOf(file) >= LONG_SECONDS || ALONE.some((glob) => path.matchesGlob(file, glob));
  const { alone = [], together = [] } = Object.groupBy(files, (file) =>
    mayShare && files.length > 1 && !isAlone(file) ? 'together' : 'alone',
  );
  const groups = await Promise.all(
    inGroups(together, secondsOf).map((group, index) =>
      writeGroup(group, path.join(home, `group-${index + 1}.mjs`)),
    ),
  );
  const single = alone.map((file) => ({ file, seconds: secondsOf(file) }));
  return [...single, ...groups].toSorted((a, b) => b.seconds - a.seconds).map(({ file }) => file);
}

/** The files in groups that take about as long as each other. */
function inGroups(together: string[], secondsOf: (file: string) => number): Group[] {
  const length = Math.min(GROUPS, Math.ceil(together.length / GROUP_FILES));
  const groups = Array.from({ length }, (): Group => ({ files: [], seconds: 0 }));
  for (const file of together.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const [shortest] = groups.toSorted((a, b) => a.seconds - b.seconds);
    if (!shortest) continue;
    shortest.files.push(file);
    shortest.seconds += secondsOf(file);
  }
  return groups;
}

/** Writes the program that runs the files of a group one after the other. */
async function writeGroup({ files, seconds }: Group, file: string): Promise<Program> {
  const module = JSON.stringify(new URL('together.ts', import.meta.url).href);
  const code = `await runTogether(${JSON.stringify(files)}, ${FILE_LIMIT_MS})`;
  await writeFile(file, `import { runTogether } from ${module};\n${code};\n`);
  return { file, seconds };
}
