import { ByteBudget } from '../../outbound/byte-budget.ts';
import type { GuardedFetch } from '../../outbound/guarded-fetch.ts';
import { OutboundError } from '../../outbound/refusal.ts';
import { OutputGone } from '../provider.ts';

/** A result that is larger than this is not ours: 15 s of 4k take some 100 MB. */
export const OUTPUT_BYTES = 2 ** 30;

/** What trying again does not cure: the task is held, where an operator sees why. */
const LASTING = new Set<unknown>([
  'too_large',
  'not_https',
  'not_public',
  'malformed_url',
  'credentials_in_url',
]);

/** What a host answers for a file it no longer serves; a presigned link that is over gives 403. */
const GONE = new Set<unknown>([401, 403, 404, 410]);

/**
 * Opens a result at its link with GET: links may be signed for that method alone.
 * @param options.maxBytes the largest that is taken; OUTPUT_BYTES when not given
 * @throws OutputGone, here or while it is read, when there is no link or it can't give the result,
 *   or may not be asked for it; OutboundError for what may pass
 */
export async function openOutputAt(
  url: string | undefined,
  options: { guardedFetch: GuardedFetch; maxBytes?: number | undefined },
): Promise<AsyncIterable<Uint8Array>> {
  if (url === undefined) throw new OutputGone('The provider has deleted the result');
  const budget = new ByteBudget(options.maxBytes ?? OUTPUT_BYTES);
  try {
    const { body } = await options.guardedFetch.download(url, {
      budget,
      plainHttpWhereAllowed: true,
    });
    return told(body);
  } catch (failure) {
    throw goneOr(failure);
  }
}

async function* told(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (failure) {
    throw goneOr(failure);
  }
}

function goneOr(failure: unknown): unknown {
  if (!(failure instanceof OutboundError)) return failure;
  const isGone = LASTING.has(failure.reason) || GONE.has(failure.details.http_status);
  return isGone ? new OutputGone(failure.message, { cause: failure }) : failure;
}
