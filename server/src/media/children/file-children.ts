import { existsSync } from 'node:fs';
import { copyFile, link, unlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Child,
  type ChildOutcome,
  type ChildProgram,
  type ChildWork,
  startChild,
} from '../../kernel/child.ts';
import type { ScratchDirectory } from '../../kernel/scratch-directory.ts';

/** The most files that one child works on, so that a leak stays small. */
const MAX_FILES = 1000;
/** A child with more resident memory than this after a file is not used again. */
const MAX_RESIDENT_BYTES = 384 * 2 ** 20;
/** Idle time before a child exits. */
const IDLE_SECONDS = 5;
const PREPARED_SECONDS = 60; // if a file is expected
const MAX_IDLE = 2;

interface SourceFile {
  path: string;
  /**
   * Who made the file. Files of different sources never share a child: a file that takes over its
   * child can only falsify measurements of its own source. undefined: the child is not reused.
   */
  source: string | undefined;
}

interface FileWork extends Omit<ChildWork, 'input'> {
  request: object;
  /** The child's next input after a result; undefined: the result is the last one. */
  answer?(result: unknown, childPath: string): Promise<object | undefined>;
  /** Whether the child may take another file after this result. */
  mayContinue(result: unknown): boolean;
}

/** A child with the folder from which it reads, which no other process uses. */
interface FileChild {
  child: Child;
  folder: string;
  source: string | undefined;
  files: number;
  end(): Promise<void>;
}

interface ChildrenOptions {
  scratch: Pick<ScratchDirectory, 'withFolder'>;
  /** The program of a child that reads from this folder. */
  programFor(folder: string): ChildProgram;
}

/**
 * Keeps children for a few seconds for more files of the same source: starting one takes longer
 * than decoding or signing a small video.
 */
export function createFileChildren(options: ChildrenOptions) {
  const idle = new Map<FileChild, NodeJS.Timeout>();
  /** How many children of each source are starting or working. */
  const busy = new Map<string | undefined, number>();
  /** Until when the next file of each source is expected. */
  const expected = new Map<string, number>();
  let isClosed = false;
  const expectedUntil = (source: string | undefined) => expected.get(source ?? '') ?? 0;
  const whileBusy = async <T>(source: string | undefined, work: () => Promise<T>): Promise<T> => {
    busy.set(source, (busy.get(source) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const others = (busy.get(source) ?? 1) - 1;
      if (others > 0) busy.set(source, others);
      else busy.delete(source);
    }
  };

  const removeIdle = (child: FileChild) => {
    clearTimeout(idle.get(child));
    idle.delete(child);
    return child;
  };
  const takeIdle = (source: string | undefined) => {
    const found = [...idle.keys()].find((child) => source !== undefined && child.source === source);
    return found && removeIdle(found);
  };
  const endIdle = (child: FileChild) => removeIdle(child).end();
  const keep = async (child: FileChild) => {
    if (isClosed) return child.end();
    const seconds =
      expectedUntil(child.source) > performance.now() ? PREPARED_SECONDS : IDLE_SECONDS;
    const timer = setTimeout(() => void endIdle(child), seconds * 1000);
    timer.unref();
    idle.set(child, timer);
    const [longest] = idle.keys();
    if (idle.size > MAX_IDLE && longest) void endIdle(longest);
  };
  const runIn = async (child: FileChild, filePath: string, work: FileWork) => {
    child.files += 1;
    let isKept = false;
    try {
      const childPath = path.join(child.folder, String(child.files));
      await linkOrCopy(filePath, childPath);
      const outcome = await exchange(child.child, childPath, work);
      const isFit = outcome.kind === 'completed' && work.mayContinue(outcome.result);
      if (isFit && child.source !== undefined && mayTakeMore(child)) {
        await unlink(childPath);
        isKept = true;
      }
      return outcome;
    } finally {
      await (isKept ? keep(child) : child.end());
    }
  };
  const run = async ({ path: filePath, source }: SourceFile, work: FileWork) => {
    if (work.signal?.aborted) return { kind: 'aborted' } as const;
    const used = takeIdle(source);
    if (used) {
      const outcome = await runIn(used, filePath, work);
      if (!mayBlameEarlierFile(outcome)) return outcome;
    }
    return runIn(await openFileChild(options, source), filePath, work);
  };
  return {
    /** Lets a child work on a file. @throws when there is no file, or no child could be started */
    run: (file: SourceFile, work: FileWork): Promise<ChildOutcome> =>
      whileBusy(file.source, () => run(file, work)),
    /** Starts a child for an expected file and keeps it for a minute, unless one is idle. */
    prepare(source: string) {
      expected.set(source, performance.now() + PREPARED_SECONDS * 1000);
      const waiting = takeIdle(source);
      if (waiting) void keep(waiting);
      if (waiting || isClosed || busy.get(source)) return;
      const opening = whileBusy(source, async () => keep(await openFileChild(options, source)));
      opening.catch(() => {}); // the next file starts a child, and reports why it can't
    },
    /** Ends idle children, which keep a stopping process alive; busy ones end after their file. */
    async close() {
      isClosed = true;
      await Promise.all([...idle.keys()].map(endIdle));
    },
  };
}

/** Gives a child its inputs for a file, until a result needs no answer. */
async function exchange(
  child: Child,
  childPath: string,
  { request, answer, mayContinue: _, ...limits }: FileWork,
): Promise<ChildOutcome> {
  let outcome: ChildOutcome;
  let input: object | undefined = { ...request, path: childPath };
  do {
    outcome = await child.run({ ...limits, input });
    input = outcome.kind === 'completed' ? await answer?.(outcome.result, childPath) : undefined;
  } while (input);
  return outcome;
}

/** Whether an earlier file may be the cause: then the outcome says nothing about this one. */
function mayBlameEarlierFile({ kind }: ChildOutcome): boolean {
  return kind === 'crashed' || kind === 'out_of_memory';
}

/** Keeps `withFolder` open until `end` is called; then it removes the folder. */
async function openFileChild(
  { scratch, programFor }: ChildrenOptions,
  source: string | undefined,
): Promise<FileChild> {
  const ended = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<FileChild>();
  const folderRemoved = scratch.withFolder(async (folder) => {
    const child = startChild(programFor(folder));
    const end = async () => {
      await child.end();
      ended.resolve();
      await folderRemoved.catch(() => {}); // a folder that stays is removed once this process is gone
    };
    opened.resolve({ child, folder, source, files: 0, end });
    await ended.promise;
  });
  folderRemoved.catch(opened.reject);
  return opened.promise;
}

function mayTakeMore({ child, files }: FileChild): boolean {
  return files < MAX_FILES && child.residentBytes() < MAX_RESIDENT_BYTES;
}

/** Puts a file into a child's folder: a hard link if possible, otherwise a copy. */
async function linkOrCopy(filePath: string, childPath: string): Promise<void> {
  await link(filePath, childPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw error;
    return copyFile(filePath, childPath); // another file system
  });
}

/**
 * Node's permission model: no network and no processes, and reading only our code, its packages and
 * the child's folder. It restricts JavaScript only; the demuxer's options restrict FFmpeg. Paths
 * are compared as they are written, so symbolic links such as node_modules must not be resolved.
 */
const CHILD_FLAGS = [
  '--permission',
  '--preserve-symlinks',
  '--disable-warning=SecurityWarning',
  ...['../../', '../../../package.json']
    .map((ours) => fileURLToPath(new URL(ours, import.meta.url)))
    .concat(packagesFolder())
    .map((readable) => `--allow-fs-read=${readable}`),
];

/** The folder in which Node finds node-av. The packages with node-av's binaries are there too. */
function packagesFolder(): string {
  const searched = createRequire(import.meta.url).resolve.paths('node-av') ?? [];
  const found = searched.find((folder) => existsSync(path.join(folder, 'node-av')));
  if (!found) throw new Error('the package node-av is not installed: run npm ci');
  return `${found}/`;
}

/** A program for children that read from their folders only, and may use addons or write there. */
export function confinedProgram(script: URL, use?: 'addons' | 'writes') {
  return (folder: string): ChildProgram => {
    const uses = { addons: '--allow-addons', writes: `--allow-fs-write=${folder}/` };
    const nodeFlags = [...CHILD_FLAGS, `--allow-fs-read=${folder}/`, ...(use ? [uses[use]] : [])];
    return { script, nodeFlags };
  };
}
