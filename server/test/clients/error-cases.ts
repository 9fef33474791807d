import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import type { Plan } from '../../../simulators/kit/faults.ts';
import { client } from '../client.ts';
import type { MediaFixture } from '../media/media-fixture.ts';
import { openClientCase } from './fault-cases.ts';

/** A row of clients/fault-cases.json; clients/README.md explains it. */
export interface FaultCase {
  name: string;
  faults?: Plan[];
  apiKey?: string;
  baseUrl?: string | null;
  maxRetries?: number;
  timeoutMs?: number;
  totalTimeoutMs?: number;
  before?: { prompt: string };
  call: string;
  request?: { prompt: string; image_url?: { file: string } };
  idempotencyKey?: string;
  calls?: number;
  expect: {
    tries: Record<string, number>;
    result?: Record<string, unknown>;
    error?: Record<string, unknown> & { kind: string };
    says?: string[];
    seconds?: number;
    mostSeconds?: number;
    tasks: number;
    charge: number;
  };
}

const TABLE = new URL('../../../clients/fault-cases.json', import.meta.url);
export const FAULT_CASES: FaultCase[] = JSON.parse(await readFile(TABLE, 'utf8'));

/** What a package is called with. */
interface Given {
  options: { apiKey: string; baseUrl: string } & Record<
    'maxRetries' | 'timeoutMs',
    number | undefined
  >;
  request: { prompt: string };
  idempotencyKey: string | undefined;
  totalTimeoutMs: number | undefined;
}

/** What it tells of an error. */
type ToldError = Record<'message' | 'code' | 'charged' | 'retry', string> &
  Record<'taskId' | 'idempotencyKey', string | undefined>;

/** A package that makes videos by the TypeScript client. */
interface MadeVideos {
  fixture(): Pick<MediaFixture, 'db' | 'url'>;
  /** What it puts before an Idempotency-Key of its caller. */
  keyPrefix?: string;
  /** Which rows it can't run. */
  skips?(row: FaultCase): boolean;
  /** Opens the package; each call of the result makes a video. Returns the error. */
  open(given: Given): Promise<() => Promise<ToldError | undefined>>;
}

/** The rows that end with an error after a request for a video, without a file. */
const errorRows = FAULT_CASES.filter(
  ({ call, expect, baseUrl, request }) =>
    expect.error !== undefined &&
    ['create', 'generate'].includes(call) &&
    baseUrl === undefined &&
    !JSON.stringify(request ?? {}).includes('"file"'),
);

/** Tests that the errors of a package say of the credits what the table of all clients says. */
export function testErrorCases(made: MadeVideos): void {
  const { fixture, keyPrefix = '', skips = () => false, open } = made;
  describe('the errors of clients/fault-cases.json', { concurrency: 8 }, () => {
    for (const row of errorRows) if (!skips(row)) test(row.name, () => testRow(row));
  });

  async function testRow(row: FaultCase): Promise<void> {
    await using opened = await openClientCase(fixture(), row.faults);
    const { apiKey, baseUrl, directUrl } = opened;
    const { idempotencyKey, maxRetries, timeoutMs, totalTimeoutMs, expect, calls = 1 } = row;
    if (row.before) {
      const direct = client(directUrl.replace(/\/api\/v1$/, ''), apiKey);
      const { status } = await direct.create(row.before, `${keyPrefix}${idempotencyKey}`);
      assert.equal(status, 202);
    }
    const call = await open({
      options: { apiKey: row.apiKey ?? apiKey, baseUrl, maxRetries, timeoutMs },
      request: { prompt: 'A paper boat', ...row.request },
      idempotencyKey,
      totalTimeoutMs,
    });
    for (let i = 1; i < calls; i++) await call();
    const error = await call();
    assert.ok(error, 'an error');
    const { tries, keys, tasks, charge } = await opened.report();
    const { code, charged, retry, taskId }: Record<string, unknown> = expect.error ?? {};
    for (const [name, value] of Object.entries({ code, charged, retry })) {
      if (value !== undefined) assert.equal(Reflect.get(error, name), value, error.message);
    }
    if (taskId) assert.match(error.taskId ?? '', /^task_/);
    assert.equal(`${keyPrefix}${error.idempotencyKey}`, keys[0]);
    for (const text of expect.says ?? []) assert.ok(error.message.includes(text), error.message);
    const counted = Object.keys(expect.tries).map((name) => [name, tries[name]]);
    assert.deepEqual(Object.fromEntries(counted), expect.tries);
    assert.deepEqual({ tasks, charge }, { tasks: expect.tasks, charge: expect.charge });
  }
}
