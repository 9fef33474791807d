// The room media/: decodes and measures files in child processes, because files of clients and
// providers may be hostile (decisions/0023).

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type ChildOutcome, runChild } from '../kernel/child.ts';
import type { ScratchDirectory } from '../kernel/scratch-directory.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { createDecodeTurns } from './children/decode-turns.ts';
import { confinedProgram, createFileChildren } from './children/file-children.ts';
import {
  type DecodedFrames,
  type Measurement,
  type MeasureRequest,
  refused,
  type VideoRules,
} from './measurement.ts';
import { parseMeasurement } from './parse-measurement.ts';

export {
  type DecodedFrames,
  type Measurement,
  type MediaFacts,
  PIXEL_BOUNDS,
} from './measurement.ts';

export interface MeasureOptions {
  /** Accounts take turns; all files without an account count as one account's. */
  accountId?: string;
  /** Who made the file: different sources never share a child. */
  source?: string;
  /** Decoding a video ends early when it breaks one of these. */
  rules?: VideoRules;
  /** Which frames of a video are decoded: all, if not given. */
  frames?: DecodedFrames;
  /** Also draws a poster of a video; if that fails, there is none. */
  drawsPoster?: boolean;
  hashUse?: MeasureRequest['hashUse'];
  signal?: AbortSignal | undefined;
}

interface MeasurerOptions {
  scratch: ScratchDirectory;
  concurrency?: number;
  /** For one file, from when its child process gets it. */
  timeoutSeconds?: number;
  memoryBytes?: number;
}

const MEGABYTE = 2 ** 20;
const DEFAULTS = {
  concurrency: 2,
  timeoutSeconds: 120,
  memoryBytes: 1536 * MEGABYTE,
};

/** Signals of a crash, which the file caused. Any other signal came from outside. */
const FAULTS = ['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'];

const programFor = confinedProgram(new URL('./decode.ts', import.meta.url), 'addons');

export type Measurer = ReturnType<typeof createMeasurer>;

export function createMeasurer({ scratch, ...given }: MeasurerOptions) {
  const limits = { ...DEFAULTS, ...given };
  const turns = createDecodeTurns(limits.concurrency);
  const children = createFileChildren({ scratch, programFor });
  const run = (
    file: string,
    request: Omit<MeasureRequest, 'path'>,
    { accountId = '', source, signal }: MeasureOptions,
  ) => {
    const { timeoutSeconds, memoryBytes } = limits;
    const work = { request, mayContinue: isMeasured, timeoutSeconds, memoryBytes };
    return turns.run({ accountId, signal }, (turnSignal) =>
      children.run({ path: file, source }, { ...work, signal: turnSignal }),
    );
  };
  return {
    /** Readies a child for a file of this source, expected within a minute. */
    prepare: children.prepare,
    close: children.close,
    /**
     * Decodes one file in a child process, which is killed when it exceeds a bound. Only the bytes
     * decide its type. With `frames: 'keyframes'`, the other frames of a video are decoded only if
     * the keyframes leave something in doubt.
     * @throws for failures of the service (no child, no file), and the signal's reason when aborted
     */
    measure: (file: string, expected: 'image' | 'video', options: MeasureOptions = {}) =>
      observed(expected, async () => {
        const { rules = null, frames = 'all', drawsPoster = false, signal } = options;
        const { hashUse = null } = options;
        const request = { expected, rules, frames, drawsPoster, hashUse };
        const outcome = await run(file, request, options);
        const isPassed = outcome.kind === 'completed' && isMeasured(outcome.result);
        if (frames === 'all' || outcome.kind === 'aborted' || isPassed) {
          return measurementOf(outcome, limits, signal);
        }
        // If the child died, drawing the poster may be why: the second try then draws none.
        const childSurvived = outcome.kind === 'completed';
        const full = {
          ...request,
          frames: 'all',
          drawsPoster: drawsPoster && childSurvived,
        } as const;
        return measurementOf(await run(file, full, options), limits, signal);
      }),
  };
}

/**
 * Hashes frames of a video file for a comparison. The file is not copied: the child may read its
 * folder.
 */
export async function hashFramesAt(file: string): Promise<Measurement> {
  const filePath = await realpath(file);
  const input: MeasureRequest = {
    path: filePath,
    expected: 'video',
    rules: null,
    frames: 'all',
    drawsPoster: false,
    hashUse: 'compared',
  };
  const program = programFor(path.dirname(filePath));
  return measurementOf(await runChild({ ...program, ...DEFAULTS, input }), DEFAULTS, undefined);
}

/** Reports a decode to the metrics and the trace, with its wait for a decoder. */
async function observed(kind: string, measure: () => Promise<Measurement>): Promise<Measurement> {
  const startedAt = performance.now();
  let outcome: Measurement['kind'] | 'error' = 'error';
  try {
    const measurement = await inSpan({ name: `decode ${kind}` }, measure);
    outcome = measurement.kind;
    return measurement;
  } finally {
    report('decode', { kind, outcome, seconds: secondsSince(startedAt) });
  }
}

/** Whether the child may go on: a file that was refused may have harmed it. */
function isMeasured(result: unknown): boolean {
  return Object(result).kind === 'measured';
}

function measurementOf(
  outcome: ChildOutcome,
  { timeoutSeconds, memoryBytes }: { timeoutSeconds: number; memoryBytes: number },
  signal: AbortSignal | undefined,
): Measurement {
  switch (outcome.kind) {
    case 'completed':
      return parseMeasurement(outcome.result);
    case 'timed_out':
      return refused('decode_too_slow', {
        explanation: `The file took longer than ${timeoutSeconds} s to decode.`,
        limit: timeoutSeconds,
      });
    case 'out_of_memory':
      return refused('decode_too_large', {
        explanation: `The file needs more than ${memoryBytes / MEGABYTE} MB to decode.`,
        limit: memoryBytes,
      });
    case 'crashed':
      if (outcome.signal && FAULTS.includes(outcome.signal)) return refused('undecodable');
      throw new Error(`the media child ended without a result: ${outcome.cause}`);
    case 'aborted':
      throw signal?.reason ?? new Error('aborted');
  }
}
