import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { FAULT_CASES, type FaultCase } from '../../../server/test/clients/error-cases.ts';
import { type ClientCase, openClientCase } from '../../../server/test/clients/fault-cases.ts';
import { imageBytes, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import {
  ApiError,
  ConnectionError,
  Framewright,
  FramewrightError,
  type GenerateRequest,
  SettingsError,
  TaskFailedError,
  WaitTimeoutError,
} from '../src/index.ts';

const KINDS: Record<string, abstract new (...args: never[]) => Error> = {
  ApiError,
  ConnectionError,
  SettingsError,
  TaskFailedError,
  WaitTimeoutError,
};

interface Run {
  client: Framewright;
  request: GenerateRequest;
  options: { idempotencyKey: string | undefined; totalTimeoutMs: number | undefined };
  /** The task of `before`. */
  taskId: string;
  folder: string;
}

const CALLS: Record<string, (run: Run) => Promise<unknown>> = {
  generate: ({ client, request, options }) => client.generate(request, options),
  create: ({ client, request, options }) => client.videos.create(request, options),
  get: ({ client, taskId }) => client.videos.get(taskId),
  wait: ({ client, taskId }) => client.videos.wait(taskId),
  credits: ({ client }) => client.credits.get(),
  download,
};

/** Downloads a video to a file, and compares it with what the service sends without faults. */
async function download({ client, request, options, folder }: Run) {
  const video = await client.generate(request, options);
  const file = path.join(folder, `${video.id}.mp4`);
  await video.download(file);
  const { pathname, search } = new URL(video.url);
  const direct = await fetch(fixture.url + pathname + search);
  const whole = Buffer.from(await direct.arrayBuffer());
  return { isWhole: whole.equals(await readFile(file)) };
}

const [fixture, folder] = await Promise.all([openMediaFixture(), temporaryFolder()]);
await writeFile(path.join(folder.path, 'picture.png'), await imageBytes('png'));
after(async () => {
  await fixture.close();
  await folder[Symbol.asyncDispose]();
});

function requestOf({ request = { prompt: 'A paper boat' } }: FaultCase): GenerateRequest {
  const { image_url, ...rest } = request;
  return image_url ? { ...rest, image_url: path.join(folder.path, image_url.file) } : rest;
}

/** Calls the client as a row says. Returns what came of it, and how long it took. */
async function runCase(row: FaultCase, { apiKey, baseUrl, directUrl }: ClientCase) {
  const { idempotencyKey, maxRetries, timeoutMs, totalTimeoutMs } = row;
  const key = row.apiKey ?? apiKey;
  const direct = new Framewright({ apiKey, baseUrl: directUrl });
  const before = row.before && (await direct.videos.create(row.before, { idempotencyKey }));
  const own = row.baseUrl === undefined ? baseUrl : (row.baseUrl ?? undefined);
  const start = performance.now();
  const outcome = await attempt(async () => {
    const client = new Framewright({ apiKey: key, baseUrl: own, maxRetries, timeoutMs });
    const options = { idempotencyKey, totalTimeoutMs };
    const taskId = before?.id ?? 'task_unknown';
    const run = { client, request: requestOf(row), options, taskId, folder: folder.path };
    const call = CALLS[row.call] ?? assert.fail(row.call);
    for (let i = 1; i < (row.calls ?? 1); i++) await attempt(() => call(run));
    return call(run);
  });
  return { ...outcome, seconds: (performance.now() - start) / 1000 };
}

const attempt = (work: () => Promise<unknown>) =>
  work().then(
    (result) => ({ result, error: undefined }),
    (error: unknown) => ({ result: undefined, error }),
  );

function checkError(
  error: unknown,
  { kind, ...fields }: NonNullable<FaultCase['expect']['error']>,
) {
  assert.ok(error instanceof FramewrightError, String(error));
  assert.ok(error instanceof (KINDS[kind] ?? assert.fail(kind)), error.name);
  for (const [name, value] of Object.entries(fields)) {
    const actual: unknown = Reflect.get(error, name);
    if (value === true) assert.ok(actual, name);
    else assert.equal(actual, value, name);
  }
}

describe('the cases of clients/fault-cases.json', { concurrency: 8 }, () => {
  for (const row of FAULT_CASES) {
    test(row.name, async () => {
      await using opened = await openClientCase(fixture, row.faults);
      const { result, error, seconds } = await runCase(row, opened);
      if (row.expect.error) checkError(error, row.expect.error);
      else assert.equal(error, undefined);
      for (const [name, value] of Object.entries(row.expect.result ?? {})) {
        assert.equal(Reflect.get(Object(result), name), value, name);
      }
      for (const text of row.expect.says ?? []) {
        assert.ok(String(error).toLowerCase().includes(text.toLowerCase()), `${error}`);
      }
      const { seconds: least = 0, mostSeconds: most = Number.POSITIVE_INFINITY } = row.expect;
      assert.ok(seconds >= least && seconds <= most, `${seconds}`);
      const { tries, keys, tasks, charge } = await opened.report();
      const counted = Object.keys(row.expect.tries).map((call) => [call, tries[call] ?? 0]);
      assert.deepEqual(Object.fromEntries(counted), row.expect.tries);
      assert.deepEqual({ tasks, charge }, { tasks: row.expect.tasks, charge: row.expect.charge });
      assert.ok(keys.length <= 1, `${keys}`);
      if (error instanceof FramewrightError && keys.length > 0) {
        assert.equal(error.idempotencyKey, keys[0]);
      }
    });
  }
});
