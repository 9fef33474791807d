import { stderr } from 'node:process';
import type { Call } from '../command.ts';
import { asFailure, Failure, failureJson, failureLines } from '../failure.ts';
import { downloadTo } from '../generation/download.ts';
import { type Finished, finish } from '../generation/finish.ts';
import { outputOf } from '../generation/plan.ts';
import { type Entry, forget, listEntries, readEntry, takeEntry } from '../state/journal.ts';
import { clientOf, currentLogin, keyHashOf, type Login } from '../state/login.ts';
import { onInterrupt } from '../terminal/interrupt.ts';
import { type Screen, table } from '../terminal/screen.ts';

export async function resume(call: Call): Promise<void> {
  const [taskId] = call.words;
  const dropped = call.text('forget');
  if (call.flag('list')) list(call.screen);
  else if (dropped !== undefined) drop(dropped, call.screen);
  else if (taskId !== undefined) await fetchTask(taskId, call);
  else await finishAll(call);
}

/** A failed generation does not stop the others. */
async function finishAll(call: Call): Promise<void> {
  const { screen } = call;
  const entries = listEntries();
  if (entries.length === 0) screen.note('Nothing is unfinished.');
  const results: unknown[] = [];
  for (const { idempotencyKey } of entries) {
    try {
      const finished = await finishOne(idempotencyKey, call);
      if (!finished) continue;
      results.push({ file: finished.output, task: finished.task });
      if (!screen.isJson) screen.result(null, finished.output);
    } catch (error) {
      const failure = asFailure(error);
      results.push(JSON.parse(failureJson(failure)));
      process.exitCode ??= failure.exitCode;
      if (!screen.isJson) stderr.write(`fw: ${failureLines(failure).join('\n    ')}\n`);
    }
  }
  if (screen.isJson) screen.result(results, '');
}

async function finishOne(idempotencyKey: string, call: Call): Promise<Finished | undefined> {
  const isFree = takeEntry(idempotencyKey);
  // The process that began it may have finished it meanwhile.
  const entry = readEntry(idempotencyKey);
  if (!entry) return undefined;
  if (!isFree) {
    const message = `Another fw is making "${entry.request.prompt}" at this moment.`;
    const taskId = entry.taskId ?? undefined;
    throw new Failure('unfinished', message, { taskId, idempotencyKey });
  }
  if (!entry.isAgreed) {
    forget(entry);
    call.screen.note(`Forgot "${entry.request.prompt}": its price was never agreed to.`);
    return undefined;
  }
  const login = loginOf(entry, call.flag('key-changed'));
  return finish(entry, { client: clientOf(login), screen: call.screen, isResumed: true });
}

/**
 * The login to finish an entry with. Idempotency-Keys are per account: with another account's
 * login, the create would be charged there.
 * @throws Failure `key`
 */
function loginOf({ baseUrl, keyMark, taskId, idempotencyKey }: Entry, isNewKey: boolean): Login {
  const login = currentLogin();
  const named = { taskId: taskId ?? undefined, idempotencyKey };
  if (login.baseUrl !== baseUrl) {
    const next = `Log in there: fw login --base-url ${baseUrl}`;
    throw new Failure('key', `A generation belongs to ${baseUrl}.`, { ...named, next });
  }
  if (keyHashOf(login) === keyMark || isNewKey || taskId !== null) return login;
  throw new Failure('key', 'A generation was begun with another API key.', {
    ...named,
    next: 'Use that key; or, with a new key of the same account, fw resume --key-changed.',
  });
}

/** Downloads the video of any task of the account, wherever it was created, once it is made. */
async function fetchTask(taskId: string, { screen, text, flag }: Call): Promise<void> {
  const output = outputOf(text('output') ?? `${taskId}.mp4`, flag('force')) ?? '';
  onInterrupt('Run the same command again to continue: it costs nothing.');
  const client = clientOf();
  screen.progress(`making ${taskId}`);
  const task = await client.videos.wait(taskId);
  await downloadTo(output, { client, taskId, screen });
  screen.result({ file: output, task }, output);
}

function list(screen: Screen): void {
  const entries = listEntries().map(({ idempotencyKey, taskId, createdAt, request, output }) => ({
    idempotency_key: idempotencyKey,
    task_id: taskId,
    created_at: createdAt,
    request,
    output,
  }));
  const rows = entries.map(({ idempotency_key: key, task_id: id, created_at: at, request }) => {
    return [key, id ?? 'not known yet', at, request.prompt];
  });
  screen.result(entries, table(screen, ['KEY', 'TASK', 'BEGUN', 'PROMPT'], rows));
}

function drop(name: string, screen: Screen): void {
  const entry = listEntries().find(({ taskId, idempotencyKey }) =>
    [taskId, idempotencyKey].includes(name),
  );
  if (!entry) throw new Failure('not_found', `No unfinished generation has the name ${name}.`);
  if (!takeEntry(entry.idempotencyKey)) {
    throw new Failure('unfinished', 'Another fw is working on it.');
  }
  forget(entry);
  screen.note('Forgotten. A task that was created goes on: see fw tasks.');
  screen.result({ forgotten: name }, '');
}
