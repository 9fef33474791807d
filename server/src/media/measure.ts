import { open } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { askChild, type ChildOutcome } from '../kernel/child.ts';
import {
  type Measurement,
  MeasurementSchema,
  type MediaBounds,
  type Question,
  refused,
} from './measurement.ts';
import { createTurnstile } from './turnstile.ts';

export type { Measurement, MediaFacts } from './measurement.ts';

export interface Measurer {
  /**
   * Decodes one file in full, in a child process that can read that file and is killed when it
   * passes a bound. The bytes decide what the file is, never its name.
   * @throws only for our own failures (no child, no file) and the signal's reason when aborted
   */
  measure(path: string, expected: 'image' | 'video', signal?: AbortSignal): Promise<Measurement>;
}

export interface MeasurerOptions {
  /** Children at a time; further files wait their turn. */
  concurrency?: number;
  /** For one file, from the start of its child. */
  timeoutSeconds?: number;
  /** Resident memory of one child. */
  memoryBytes?: number;
  bounds?: Partial<MediaBounds>;
}

const DEFAULTS = { concurrency: 2, timeoutSeconds: 120, memoryBytes: 1536 * 1024 * 1024 };
const BOUNDS: MediaBounds = {
  imagePixels: 64_000_000,
  /** 4096 x 2304: the largest output, 4398 x 1886, with its padding to whole blocks. */
  videoPixels: 4096 * 2304,
  /** One minute of 60 fps, or 15 s of 240 fps. */
  videoFrames: 3600,
};

/** Signals that a process gives itself by a fault; any other came from outside. */
const FAULTS = ['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'];

export function createMeasurer(options: MeasurerOptions = {}): Measurer {
  const limits = { ...DEFAULTS, ...options };
  const bounds = { ...BOUNDS, ...options.bounds };
  const turnstile = createTurnstile(limits.concurrency);
  return {
    measure: (path, expected, signal) =>
      turnstile.pass(signal, async () => {
        const outcome = await askAbout(path, { expected, bounds }, { ...limits, signal });
        return judge(outcome, signal);
      }),
  };
}

interface ChildLimits {
  timeoutSeconds: number;
  memoryBytes: number;
  signal: AbortSignal | undefined;
}

async function askAbout(path: string, question: Question, limits: ChildLimits) {
  await using file = await open(path, 'r');
  return await askChild({
    script: new URL('./decode.ts', import.meta.url),
    question,
    fileDescriptors: [file.fd],
    timeoutSeconds: limits.timeoutSeconds,
    memoryBytes: limits.memoryBytes,
    signal: limits.signal,
  });
}

function judge(outcome: ChildOutcome, signal: AbortSignal | undefined): Measurement {
  switch (outcome.kind) {
    case 'answered':
      return Value.Parse(MeasurementSchema, outcome.answer);
    case 'timed_out':
      return refused('decode_too_slow');
    case 'out_of_memory':
      return refused('decode_too_large');
    case 'crashed':
      if (outcome.signal && FAULTS.includes(outcome.signal)) return refused('undecodable');
      throw new Error(`the media child ended without an answer: ${outcome.cause}`);
    case 'aborted':
      throw signal?.reason ?? new Error('aborted');
  }
}
