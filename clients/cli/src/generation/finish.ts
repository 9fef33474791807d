import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Framewright, VideoRequest, VideoTask } from '@framewright/client';
import { asFailure, Failure } from '../failure.ts';
import { type Entry, forget, record } from '../state/journal.ts';
import { onInterrupt } from '../terminal/interrupt.ts';
import type { Screen } from '../terminal/screen.ts';
import { downloadTo, partOf } from './download.ts';

export interface Finished {
  task: VideoTask;
  output: string;
}

export interface Work {
  client: Framewright;
  screen: Screen;
  /** An earlier process may have sent the create. */
  isResumed?: boolean;
}

/** Builds the body of an entry's create. Its files are uploaded first, which costs nothing. */
export async function prepare(entry: Entry, { client, screen }: Work): Promise<VideoRequest> {
  if (entry.body) return entry.body;
  screen.progress('preparing the request and its files');
  entry.body = await client.videos.prepare(entry.request);
  record(entry);
  screen.progress(null);
  return entry.body;
}

/**
 * Finishes an entry from wherever it stopped, then forgets it. Its price has been agreed to.
 * @throws Failure; the entry is kept unless it failed, or was refused for good
 */
export async function finish(entry: Entry, work: Work): Promise<Finished> {
  onInterrupt('fw resume goes on without paying again.');
  try {
    const taskId = entry.taskId ?? (await create(entry, work));
    const task = await waitFor(taskId, entry, work);
    const output = entry.output ?? path.join(entry.folder, `${taskId}.mp4`);
    await downloadTo(output, { ...work, taskId });
    forget(entry);
    onInterrupt(`The video is ${output}.`);
    return { task, output };
  } catch (error) {
    throw forgetOrKeep(entry, error, work);
  } finally {
    work.screen.progress(null);
  }
}

async function create(entry: Entry, work: Work): Promise<string> {
  const body = await prepare(entry, work);
  work.screen.progress('sending the request');
  const { idempotencyKey } = entry;
  const task = await work.client.videos.create(body, { idempotencyKey });
  if (!/^[\w-]+$/.test(task.id)) throw new Failure('other', `Not the id of a task: ${task.id}`);
  entry.taskId = task.id; // file names include it
  record(entry);
  return task.id;
}

async function waitFor(taskId: string, entry: Entry, { client, screen }: Work) {
  const { idempotencyKey } = entry;
  const begun = Date.parse(entry.createdAt);
  const show = () => {
    const seconds = Math.max(0, Math.round((Date.now() - begun) / 1000));
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    screen.progress(`making ${taskId}  ${time}`);
  };
  show();
  const timer = setInterval(show, 1000);
  try {
    return await client.videos.wait(taskId, { idempotencyKey });
  } finally {
    clearInterval(timer);
  }
}

/**
 * Errors that come after the look-up of the Idempotency-Key, so that they also cover earlier tries.
 * A 401 says nothing about earlier tries.
 */
const AFTER_KEY_LOOKUP = [
  'invalid_request',
  'payload_too_large',
  'insufficient_credits',
  'service_busy',
];

/** Forgets an entry that failed or was refused for good; a kept entry's error says how to resume. */
function forgetOrKeep(entry: Entry, error: unknown, { isResumed }: Work): Failure {
  const failure = asFailure(error);
  const { code = '', charged } = failure.advice;
  const isCreate = entry.taskId === null;
  const isAfterKeyLookup = AFTER_KEY_LOOKUP.includes(code);
  const isOver =
    failure.kind === 'failed' ||
    code === 'output_deleted' ||
    (isCreate && isAfterKeyLookup && charged !== 'reserved');
  const cannotBePrepared = entry.body === null && !['unavailable', 'key'].includes(failure.kind);
  if (isOver || cannotBePrepared) {
    if (entry.taskId !== null && entry.output !== null)
      rmSync(partOf(entry.output, entry.taskId), { force: true });
    forget(entry);
    return failure;
  }
  const before = failure.kind === 'key' ? 'After fw login, ' : '';
  const next = `${before}fw resume goes on without paying again.`;
  const { taskId = entry.taskId ?? undefined, idempotencyKey = entry.idempotencyKey } =
    failure.advice;
  // `no` is about this try; an earlier process may have sent the create.
  const isInDoubt = isResumed && !isAfterKeyLookup && charged === 'no';
  const chargedPerhaps = isInDoubt ? ({ charged: 'reserved', retry: 'same_key' } as const) : {};
  const advice = { ...failure.advice, ...chargedPerhaps, taskId, idempotencyKey, next };
  return new Failure(failure.kind, failure.message, advice, failure);
}
