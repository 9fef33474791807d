import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Me } from '../../../../server/src/site/account/me.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { isKeptFor } from '../../personal.ts';
import { useSession } from '../../session.tsx';
import type { Body } from './form-model.ts';

/**
 * What became of a request. `lost`: no response came, so it may have been taken; it is sent again
 * with the same key. `refused`: nothing was made and nothing is charged.
 */
export type Generation =
  | { kind: 'sending' }
  /** After a reload. `gone`: there is no such task. */
  | { kind: 'reading' | 'gone' }
  | { kind: 'lost'; error: ApiFailure }
  | { kind: 'refused'; error: ApiFailure }
  | { kind: 'task'; task: ShownTask; readAt: number; error?: ApiFailure | undefined };

/** A request with its Idempotency-Key: stored before it is sent, so that a reload continues it. */
interface Submission {
  key: string;
  accountId: string;
  body: Body;
  taskId?: string;
}

/** A request and what became of it. */
export interface Run {
  submission: Submission;
  generation: Generation;
}

/** By mode: what was sent in one is never sent again in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };
/** The older ones are in the gallery. */
const MOST = 5;

/** Whose runs they are. */
type Owner = Pick<Me, 'account_id' | 'mode'>;

/** What this window has sent, the newest first, unless it was for another account. */
function stored({ account_id: accountId, mode }: Owner): Submission[] {
  try {
    const found: Submission | Submission[] = JSON.parse(
      sessionStorage.getItem(STORED[mode]) ?? '[]',
    );
    return [found].flat().filter((submission) => submission.accountId === accountId);
  } catch {
    return [];
  }
}

/** The request that was sent last, for the form. */
export function followedRequest(owner: Owner): Body | undefined {
  return stored(owner)[0]?.body;
}

/**
 * Keeps the runs over a reload, but not those that were refused, and none after a sign-out: a
 * response may still be on its way then.
 */
function store({ account_id: accountId, mode }: Owner, runs: Run[]): void {
  if (!isKeptFor(accountId)) return;
  const kept = runs.filter(({ generation: { kind } }) => kind !== 'refused');
  const submissions = kept.map(({ submission }) => submission);
  if (kept.length > 0) sessionStorage.setItem(STORED[mode], JSON.stringify(submissions));
  else sessionStorage.removeItem(STORED[mode]);
}

/** Statuses after which it is not known whether the request was taken. */
const isUncertain = ({ status }: ApiFailure) => status === 0 || status === 429 || status >= 500;

const POLL_SECONDS = { first: 1, later: 2, held: 10 };
const FIRST_POLLS = 10;

/** Whether no more is to be learnt of a run, so that it makes room for others. */
const isOver = ({ generation }: Run) =>
  generation.kind === 'refused' ||
  (generation.kind === 'task' && generation.task.status !== 'processing');

/** Puts a run first, and drops the oldest ones that are over. */
function withNewest(runs: Run[], run: Run): Run[] {
  const others = runs.filter(
    ({ submission, generation: { kind } }) =>
      submission.key !== run.submission.key && kind !== 'refused',
  );
  return [run, ...others.filter((one, at) => at < MOST - 1 || !isOver(one))];
}

/** What is known of the newest requests, and what changes it; both are kept over a reload. */
function useKnownRuns(owner: Owner) {
  const { refresh } = useSession();
  const [runs, setRuns] = useState<Run[]>([]);
  const current = useRef(runs);
  const change = useCallback(
    (next: Run[]) => {
      const known = next.filter(({ generation }) => generation.kind !== 'gone');
      current.current = known;
      store(owner, known);
      setRuns(known);
    },
    [owner],
  );
  const update = useCallback(
    (key: string, generation: Generation) => {
      const taskId = generation.kind === 'task' ? { taskId: generation.task.id } : {};
      change(
        current.current.map((run) =>
          run.submission.key === key
            ? { submission: { ...run.submission, ...taskId }, generation }
            : run,
        ),
      );
      if (generation.kind === 'task' && generation.task.status !== 'processing') void refresh();
    },
    [change, refresh],
  );
  return { runs, current, change, update };
}

/**
 * Sends requests, and keeps what became of the newest ones, also over a reload.
 * @param me another account or mode needs another component
 */
export function useRuns(me: Owner) {
  const { refresh } = useSession();
  const [owner] = useState(me);
  const { runs, current, change, update } = useKnownRuns(owner);
  const send = useCallback(
    async (submission: Submission) => {
      change(withNewest(current.current, { submission, generation: { kind: 'sending' } }));
      update(submission.key, await create(owner, submission));
      void refresh();
    },
    [change, update, refresh],
  );
  useEffect(() => {
    const before = stored(owner);
    change(before.map((submission) => ({ submission, generation: { kind: 'reading' } })));
    for (const submission of before) {
      if (submission.taskId === undefined) void send(submission);
      else void readTask(submission.taskId).then((read) => update(submission.key, read));
    }
  }, [owner, change, send, update]);
  return {
    runs,
    update,
    /** A new request, or an earlier one again if no response to it came. */
    async generate(body: Body) {
      const known = current.current;
      if (known.some(({ generation }) => generation.kind === 'sending')) return; // a second click
      const isSame = ({ submission, generation }: Run) =>
        generation.kind === 'lost' && JSON.stringify(submission.body) === JSON.stringify(body);
      const lost = known.find(isSame)?.submission;
      await send(
        lost ?? {
          key: crypto.randomUUID(),
          accountId: owner.account_id,
          body,
        },
      );
    },
    /** The request again, with its own key. */
    retry: ({ submission }: Run) => send(submission),
    dismiss: ({ submission: { key } }: Run) =>
      change(current.current.filter(({ submission }) => submission.key !== key)),
  };
}

const CREATES = {
  live: 'POST /console/api/generations',
  test: 'POST /console/api/test-generations',
} as const;

async function create({ mode }: Owner, { key, body }: Submission): Promise<Generation> {
  try {
    const headers = { 'idempotency-key': key };
    const task = await api(CREATES[mode], { body, headers });
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    const isNotTaken = error.details.reason === 'not_taken';
    return { kind: isUncertain(error) && !isNotTaken ? 'lost' : 'refused', error };
  }
}

async function readTask(id: string, before?: ShownTask): Promise<Generation> {
  try {
    const task = await api('GET /console/api/tasks/:id', { params: { id } });
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    if (!before) return error.status === 404 ? { kind: 'gone' } : { kind: 'refused', error };
    // Another object, so that it is followed further.
    return { kind: 'task', task: { ...before }, readAt: performance.now(), error };
  }
}

/** Reads a live task again and again, while the page is visible. */
export function useFollow(task: ShownTask | undefined, onRead: (next: Generation) => void): void {
  const read = useRef(onRead);
  read.current = onRead;
  const polls = useRef(0);
  const id = task?.id;
  useEffect(() => {
    polls.current = 0;
  }, [id]);
  useEffect(() => {
    if (task?.status !== 'processing') return;
    let isGone = false;
    const next = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      polls.current += 1;
      const generation = await readTask(task.id, task);
      if (!isGone) read.current(generation);
    };
    const isFirst = polls.current < FIRST_POLLS;
    const { first, later, held } = POLL_SECONDS;
    const seconds = task.held !== null ? held : isFirst ? first : later;
    const timer = setTimeout(() => void next(), seconds * 1000);
    document.addEventListener('visibilitychange', next);
    return () => {
      isGone = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', next);
    };
  }, [task]);
}
