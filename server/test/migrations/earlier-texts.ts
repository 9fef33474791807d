import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const FOLDER = 'server/migrations/';
const ROOT = new URL('../../../', import.meta.url);

/** Why the history can't be read here, such as in an unpacked archive; undefined if it can. */
export async function missingHistory(): Promise<string | undefined> {
  try {
    const shallow = await git('rev-parse', '--is-shallow-repository');
    return shallow.trim() === 'false' ? undefined : 'this is a shallow clone, without the history';
  } catch {
    return 'this is no git checkout, or git is not installed';
  }
}

/**
 * The commits after which the text of a migration changed, or its file was removed. Together they
 * have each text that a migration ever had and has no more.
 */
export async function lastCommitsOfTexts(): Promise<string[]> {
  const log = await git('log', '--no-merges', '--format=%P', '--raw', '--', FOLDER);
  const commits = new Set<string>();
  let parent = '';
  for (const line of log.split('\n')) {
    if (/^[0-9a-f]{40}$/.test(line)) parent = line;
    if (/^:.* [MDR]\d*\t.*\.sql/.test(line)) commits.add(parent);
  }
  return [...commits];
}

/** Unpacks the migrations of a commit into a folder of its own. @returns where they are */
export async function unpackMigrations(commit: string, into: string): Promise<URL> {
  const own = path.join(into, commit);
  await mkdir(own);
  const archive = path.join(own, 'migrations.tar');
  await git('archive', '--format=tar', `--output=${archive}`, commit, FOLDER);
  await promisify(execFile)('tar', ['-xf', archive, '-C', own]);
  return pathToFileURL(path.join(own, FOLDER));
}

async function git(...args: string[]): Promise<string> {
  return (await promisify(execFile)('git', args, { cwd: ROOT, maxBuffer: 1e8 })).stdout;
}
