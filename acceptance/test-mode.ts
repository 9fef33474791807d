import assert from 'node:assert/strict';
import { type ApiResponse, create, needs, send } from './deployment.ts';

const keys = (process.env.FRAMEWRIGHT_TEST_KEYS ?? '').split(',');

/** The options of a test that needs a test key. */
export const inTestMode = {
  skip: needs('FRAMEWRIGHT_TEST_KEYS'),
  timeout: Number(process.env.FRAMEWRIGHT_PATIENCE_SECONDS ?? 600) * 1000,
};

/** A test key; a file that sends many requests takes several by their numbers. */
export function testKey(number: number): string {
  return keys[number % keys.length] ?? '';
}

/** A create of a test task. The word says what becomes of it (docs/customers/test-keys.md). */
export function createTest(
  word: string,
  options: { key: string; headers?: Record<string, string> },
): Promise<ApiResponse> {
  const request = { model: 'video-2.0-mini', resolution: '480p', duration: 4 };
  return create({ ...request, prompt: `a paper boat on a pond ${word}` }, options);
}

/** A request without a body that is no read, or one with a JSON body. */
export function call(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  { key, body }: { key: string; body?: object },
): Promise<ApiResponse> {
  const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  return send(path, { key, method, ...(body && json) });
}

/** Reads a task with `Prefer: wait` until it has ended. */
export async function waitForEnd(id: string, key: string): Promise<ApiResponse> {
  for (;;) {
    const read = await send(`/tasks/${id}`, { key, headers: { prefer: 'wait=30' } });
    assert.equal(read.status, 200, JSON.stringify(read.body));
    if (read.body.status !== 'processing') return read;
  }
}

/** What the movements of a task's credits were for. */
export async function movements(id: string, key: string): Promise<string[]> {
  const { body } = await send(`/tasks/${id}/ledger`, { key });
  return body.data.map(({ reason }: { reason: string }) => reason);
}
