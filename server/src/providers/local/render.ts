import { type ChildOutcome, runChild } from '../../kernel/child.ts';
import type { RenderJob, RenderSpec } from './render-spec.ts';

export type { RenderSpec } from './render-spec.ts';

export type RenderOutcome =
  | { kind: 'rendered' }
  | { kind: 'failed'; cause: string }
  | { kind: 'aborted' };

export interface RenderOptions {
  signal?: AbortSignal | undefined;
  timeoutSeconds?: number;
  memoryBytes?: number;
}

/** Ample for the largest video: 4k of 15 s took 41 s on two cores that were busy with more. */
const TIMEOUT_SECONDS = 600;
/** 4k of 15 s took 410 MB; inputs of many pixels and three clips in 4k come on top. */
const MEMORY_BYTES = 1.5 * 2 ** 30;

/**
 * Makes the MP4 of a spec: H.264 at 24 frames a second, exactly as large and as long as asked,
 * with a stereo tone or without sound. The same spec gives the same bytes on the same machine.
 * It is no AI model, and every frame says so. Works in a child process that is killed when the
 * signal aborts or a limit is passed; a partial file may then stay at `outputPath`.
 * @throws when the child could not be started at all
 */
export async function renderVideo(
  spec: RenderSpec,
  outputPath: string,
  options: RenderOptions = {},
): Promise<RenderOutcome> {
  const job: RenderJob = { spec, outputPath };
  const timeoutSeconds = options.timeoutSeconds ?? TIMEOUT_SECONDS;
  const outcome = await runChild({
    script: new URL('./render-child.ts', import.meta.url),
    input: job,
    timeoutSeconds,
    memoryBytes: options.memoryBytes ?? MEMORY_BYTES,
    signal: options.signal,
  });
  return outcomeOf(outcome, timeoutSeconds);
}

function outcomeOf(outcome: ChildOutcome, timeoutSeconds: number): RenderOutcome {
  switch (outcome.kind) {
    case 'completed':
      return renderOutcomeOf(outcome.result);
    case 'aborted':
      return { kind: 'aborted' };
    case 'timed_out':
      return { kind: 'failed', cause: `not rendered within ${timeoutSeconds} s` };
    case 'out_of_memory':
      return { kind: 'failed', cause: 'rendering took more memory than allowed' };
    case 'crashed':
      return { kind: 'failed', cause: `the renderer crashed: ${outcome.cause}` };
  }
}

function renderOutcomeOf(result: unknown): RenderOutcome {
  if (typeof result === 'object' && result !== null && 'kind' in result) {
    if (result.kind === 'rendered') return { kind: 'rendered' };
    if ('cause' in result) return { kind: 'failed', cause: String(result.cause) };
  }
  return { kind: 'failed', cause: 'the renderer gave no answer that makes sense' };
}
