import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, type Framewright, TaskFailedError } from '@framewright/client';
import type { Call } from '../command.ts';
import { Failure } from '../failure.ts';
import { OUTCOMES } from '../request-options.ts';
import { clientOf, currentLogin, isTestKey } from '../state/login.ts';
import { styled, table } from '../terminal/screen.ts';

interface Result {
  word: string;
  /** The create's status, with its error code. */
  create: string;
  charged: string;
  retry: string;
  /** How its task ended; '' without a task. */
  end: string;
  is_as_documented: boolean;
}

export async function tryOutcomes({ words, screen }: Call): Promise<void> {
  const login = currentLogin();
  if (!isTestKey(login)) {
    const next = 'Make a test key on the website, then: FRAMEWRIGHT_API_KEY=fw_test_... fw test';
    const message = 'fw test needs a test key; this one is live.';
    throw new Failure('key', message, { charged: 'no', next });
  }
  // Creates are not retried: their errors are the test.
  const clients = { once: clientOf(login, 0), patient: clientOf(login) };
  const chosen = words.length > 0 ? words : Object.keys(OUTCOMES);
  screen.progress(`running ${chosen.length} requests; the slowest takes half a minute`);
  const results = await Promise.all(chosen.map((word) => resultOf(clients, word)));
  const rows = results.map(({ word, create, charged, retry, end, is_as_documented: matches }) => {
    const verdict = matches ? 'as documented' : 'NOT as documented';
    const shown = screen.isJson ? verdict : styled(matches ? 'green' : 'red', verdict);
    return [word, create, charged, retry, end, shown];
  });
  const head = ['WORD', 'CREATE', 'CHARGED', 'RETRY', 'TASK', ''];
  screen.result(results, table(screen, head, rows));
  if (results.some((one) => !one.is_as_documented)) process.exitCode = 1;
}

async function resultOf(
  { once, patient }: { once: Framewright; patient: Framewright },
  word: string,
): Promise<Result> {
  const { taskId, ...created } = await create(once, word);
  const end = taskId === undefined ? '' : await endOf(patient, taskId);
  const wanted = OUTCOMES[word];
  const matches = wanted?.create === created.create && (end === '' || end === wanted.end);
  return { word, ...created, end, is_as_documented: matches };
}

type Created = Pick<Result, 'create' | 'charged' | 'retry'> & { taskId?: string | undefined };

async function create(client: Framewright, word: string): Promise<Created> {
  const prompt = `A paper boat, ${word}`;
  try {
    const task = await client.videos.create({ prompt, duration: 4, resolution: '480p' });
    return { create: '202', charged: 'reserved', retry: '', taskId: task.id };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'unauthorized') throw error;
    const { status, code, charged, retry, taskId } = error;
    // The key's own rate limit, which says nothing about this outcome.
    if (code === 'rate_limited' && word !== 'test-rate-limited') {
      await pause((error.retryAfterSeconds ?? 1) * 1000);
      return create(client, word);
    }
    return { create: `${status} ${code}`, charged, retry, taskId };
  }
}

/** `completed`, or the failed task's error code. */
async function endOf(client: Framewright, taskId: string): Promise<string> {
  try {
    return (await client.videos.wait(taskId)).status;
  } catch (error) {
    if (error instanceof TaskFailedError) return error.code;
    throw error;
  }
}
