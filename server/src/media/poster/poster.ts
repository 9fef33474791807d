import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ScratchDirectory } from '../../kernel/scratch-directory.ts';
import { confinedProgram, createDecodeChildren } from '../children/decode-children.ts';
import { webpOf } from '../parse-measurement.ts';

export type PosterMaker = ReturnType<typeof createPosterMaker>;

type Drawn = { kind: 'drawn'; webp: Buffer } | { kind: 'refused'; explanation: string };

const LIMITS = { timeoutSeconds: 30, memoryBytes: 1024 * 2 ** 20 };
export const POSTER_SIDE = 640;

const Result = Type.Union([
  Type.Object({ webp: Type.String() }, { additionalProperties: false }),
  Type.Object({ refused: Type.String({ maxLength: 500 }) }, { additionalProperties: false }),
]);

/** Draws posters of at most 640 pixels, in child processes of low priority. */
export function createPosterMaker({ scratch }: { scratch: ScratchDirectory }) {
  const children = createDecodeChildren({
    scratch,
    programFor: (folder) => ({ ...confinedProgram(folder), niceness: 10 }),
  });
  return {
    /**
     * Draws an early frame of a video, or says for the log why it can't.
     * @param options.source who made the file: see `DecodeChildren`
     * @throws for failures of the service, and the signal's reason when aborted
     */
    async draw(
      filePath: string,
      { source, signal }: { source: string; signal: AbortSignal },
    ): Promise<Drawn> {
      const outcome = await children.run(
        { path: filePath, source },
        {
          ...LIMITS,
          signal,
          request: { maxSide: POSTER_SIDE },
          mayContinue: (result) => 'webp' in Object(result),
        },
      );
      if (outcome.kind === 'completed') return drawnOf(outcome.result);
      if (outcome.kind === 'aborted') throw signal.reason ?? new Error('aborted');
      const explanation = outcome.kind === 'crashed' ? outcome.cause : outcome.kind;
      return { kind: 'refused', explanation };
    },
  };
}

/** Checks the result of a child process, which had hostile bytes in its memory. */
function drawnOf(given: unknown): Drawn {
  const result = Value.Parse(Result, given);
  if ('refused' in result) return { kind: 'refused', explanation: result.refused };
  const webp = webpOf(result.webp);
  if (!webp) return { kind: 'refused', explanation: 'the child returned no WebP' };
  return { kind: 'drawn', webp };
}
