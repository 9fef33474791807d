import { ByteBudget } from '../../outbound/byte-budget.ts';
import { OutboundError } from '../../outbound/refusal.ts';
import { OutputGone } from '../provider.ts';
import type { RemoteDeps } from './remote.ts';

/** The largest result that is fetched: 15 s of 4k take about 100 MB. */
const OUTPUT_BYTES = 2 ** 30;

/** Failures that a retry can't resolve: the task is held, and an operator sees the cause. */
const PERMANENT = new Set<unknown>([
  'too_large',
  'not_https',
  'not_public',
  'malformed_url',
  'credentials_in_url',
]);

/** Statuses for a file that is no longer served; an expired presigned link gives 403. */
const GONE = [401, 403, 404, 410];

export interface OutputDeps extends Pick<RemoteDeps, 'guardedFetch'> {
  maxOutputBytes?: number | undefined;
}

/**
 * Opens a result at its link with GET: a link may be signed for that method only.
 * @throws OutputGone, here or while the body is read, when there is no link, or the result is gone
 *   or must not be fetched; OutboundError for a temporary failure
 */
export async function openOutputAt(
  url: string | undefined,
  { guardedFetch, maxOutputBytes = OUTPUT_BYTES }: OutputDeps,
  { headers = {}, gone = GONE }: { headers?: Record<string, string>; gone?: number[] } = {},
): Promise<AsyncIterable<Uint8Array>> {
  if (url === undefined) throw new OutputGone('The provider has deleted the result');
  const budget = new ByteBudget(maxOutputBytes);
  const rules = {
    budget,
    plainHttpWhereAllowed: true,
    comparesDigest: true,
    keepsConnection: true,
    headers,
  };
  const toOutputGone = (failure: unknown): unknown => {
    if (!(failure instanceof OutboundError)) return failure;
    const isGone =
      PERMANENT.has(failure.reason) ||
      gone.some((status) => status === failure.details.http_status);
    return isGone ? new OutputGone(failure.message, { cause: failure }) : failure;
  };
  async function* translated(body: AsyncIterable<Uint8Array>) {
    try {
      yield* body;
    } catch (failure) {
      throw toOutputGone(failure);
    }
  }
  try {
    return translated(await guardedFetch.download(url, rules));
  } catch (failure) {
    throw toOutputGone(failure);
  }
}
