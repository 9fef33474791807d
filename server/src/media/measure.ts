import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildOutcome, runChild } from '../kernel/child.ts';
import { createSemaphore } from '../kernel/semaphore.ts';
import { type Measurement, type MeasureRequest, type MediaBounds, refused } from './measurement.ts';
import { parseMeasurement } from './parse-measurement.ts';

export type { Measurement, MediaFacts } from './measurement.ts';

export interface Measurer {
  /**
   * Decodes all of one file, in a child process that can read only that file and is killed when it
   * exceeds a bound. Only the file's bytes decide its type; its name does not matter.
   * @throws for failures of the service (no child, no file), and the signal's reason when aborted
   */
  measure(path: string, expected: 'image' | 'video', signal?: AbortSignal): Promise<Measurement>;
}

interface MeasurerOptions {
  /** How many child processes may run at a time; further files wait. */
  concurrency?: number;
  /** For one file, from the start of its child process. */
  timeoutSeconds?: number;
  /** Resident memory of one child. */
  memoryBytes?: number;
  bounds?: Partial<MediaBounds>;
}

const DEFAULTS = { concurrency: 2, timeoutSeconds: 120, memoryBytes: 1536 * 1024 * 1024 };
const BOUNDS: MediaBounds = {
  imagePixels: 64_000_000,
  /** The largest output, 4398 x 1886 padded to whole blocks, has fewer pixels. */
  videoPixels: 4096 * 2304,
  /** One minute of 60 fps, or 15 s of 240 fps. */
  videoFrames: 3600,
};

/** Signals of a crash, which the file caused. Any other signal came from outside. */
const FAULTS = ['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'];

/**
 * Node's permission model: no network, no processes, no writing, and reading only the product's
 * code and its packages. It restricts JavaScript only; the demuxer's options restrict FFmpeg.
 * The permission model compares paths as they are written, so the child must not replace a symbolic
 * link, such as node_modules, by its real path.
 */
const CHILD_FLAGS = [
  '--permission',
  '--allow-addons',
  '--preserve-symlinks',
  '--disable-warning=SecurityWarning',
  ...['../', '../../package.json']
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

export function createMeasurer(options: MeasurerOptions = {}): Measurer {
  const limits = { ...DEFAULTS, ...options };
  const bounds = { ...BOUNDS, ...options.bounds };
  const semaphore = createSemaphore(limits.concurrency);
  return {
    measure: (path, expected, signal) =>
      semaphore.run(signal, async () => {
        const outcome = await measureInChild(path, { expected, bounds }, { ...limits, signal });
        return measurementOf(outcome, signal);
      }),
  };
}

interface ChildLimits {
  timeoutSeconds: number;
  memoryBytes: number;
  signal: AbortSignal | undefined;
}

async function measureInChild(path: string, input: MeasureRequest, limits: ChildLimits) {
  await using file = await open(path, 'r');
  return await runChild({
    script: new URL('./decode.ts', import.meta.url),
    nodeFlags: CHILD_FLAGS,
    input,
    fileDescriptors: [file.fd],
    timeoutSeconds: limits.timeoutSeconds,
    memoryBytes: limits.memoryBytes,
    signal: limits.signal,
  });
}

function measurementOf(outcome: ChildOutcome, signal: AbortSignal | undefined): Measurement {
  switch (outcome.kind) {
    case 'completed':
      return parseMeasurement(outcome.result);
    case 'timed_out':
      return refused('decode_too_slow');
    case 'out_of_memory':
      return refused('decode_too_large');
    case 'crashed':
      if (outcome.signal && FAULTS.includes(outcome.signal)) return refused('undecodable');
      throw new Error(`the media child ended without a result: ${outcome.cause}`);
    case 'aborted':
      throw signal?.reason ?? new Error('aborted');
  }
}
