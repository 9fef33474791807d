import { checkUrl } from './addresses.ts';
import type { DownloadSession } from './download-session.ts';
import type { LookupClient } from './lookup-turns.ts';
import { type PinnedResponse, type RequestRules, requestPinned } from './pinned-request.ts';

/** How much of a response is read, and how much of it is kept. */
const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

export interface PostOptions {
  /** The customer who names the URL. */
  client: LookupClient;
  headers: Record<string, string>;
  body: string;
  /** From the look-up of the host to the end of the response. */
  deadlineSeconds: number;
}

export interface PostResponse {
  status: number;
  /** The first KiB of the body, as text. */
  start: string;
}

/** Sends one POST. A redirect is a response like any other. */
export async function postOnce(
  url: string,
  { headers, body }: PostOptions,
  rules: RequestRules,
  session: DownloadSession,
): Promise<PostResponse> {
  try {
    const target = checkUrl(url, rules, { plainHttpWhereAllowed: true });
    const response = await requestPinned(target, { headers, body }, rules, session);
    return { status: response.status, start: await startOf(response) };
  } catch (failure) {
    throw session.failureOf(failure);
  } finally {
    await session.end();
  }
}

/** The status has come, so a body that breaks off or comes slowly changes nothing. */
async function startOf({ body }: PinnedResponse): Promise<string> {
  const kept: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of body) {
      if (sizeBytes < KEPT_BYTES) kept.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes >= READ_BYTES) break;
    }
  } catch {
    // what came is kept
  }
  return Buffer.concat(kept).subarray(0, KEPT_BYTES).toString();
}
