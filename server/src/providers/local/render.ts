import type { RenderSpec } from 'local-renderer';
import { runChild } from '../../kernel/child.ts';

export interface RenderJob {
  spec: RenderSpec;
  outputPath: string;
}

type RenderOutcome = { kind: 'rendered' } | { kind: 'failed'; cause: string } | { kind: 'aborted' };

/** Enough for the largest video: 15 s in 4k took 13 s of CPU time. */
const TIMEOUT_SECONDS = 600;
/** 15 s in 4k took 300 MB; large input images and three 4k clips need more. */
const MEMORY_BYTES = 1.5 * 2 ** 30;

/**
 * Renders a spec with `local-renderer` in a child process. The child process is killed when the
 * signal aborts or a limit is exceeded; a partial file may then remain at `outputPath`.
 * @throws when the child process can't be started
 */
export async function renderVideo(
  spec: RenderSpec,
  outputPath: string,
  signal: AbortSignal,
): Promise<RenderOutcome> {
  const job: RenderJob = { spec, outputPath };
  const outcome = await runChild({
    script: new URL('./render-child.ts', import.meta.url),
    input: job,
    timeoutSeconds: TIMEOUT_SECONDS,
    memoryBytes: MEMORY_BYTES,
    signal,
  });
  switch (outcome.kind) {
    case 'completed': {
      const { failure } = Object(outcome.result);
      return failure === null
        ? { kind: 'rendered' }
        : { kind: 'failed', cause: String(failure ?? 'the renderer gave an invalid result') };
    }
    case 'aborted':
      return { kind: 'aborted' };
    case 'timed_out':
      return { kind: 'failed', cause: `not rendered within ${TIMEOUT_SECONDS} s` };
    case 'out_of_memory':
      return { kind: 'failed', cause: 'rendering took more memory than allowed' };
    case 'crashed':
      return { kind: 'failed', cause: `the renderer crashed: ${outcome.cause}` };
  }
}
