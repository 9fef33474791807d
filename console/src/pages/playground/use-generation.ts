import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { WebTask } from '../../../../server/src/site/playground/web-task.ts';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { useMe, useSession } from '../../session.tsx';
import type { Body } from './form-model.ts';

/**
 * What became of the request that was sent last. `lost`: no response came, so it may have been
 * taken; it is sent again with the same key. `refused`: nothing was made and nothing is charged.
 */
export type Generation =
  | { kind: 'none' }
  | { kind: 'sending' }
  | { kind: 'lost'; error: ApiFailure }
  | { kind: 'refused'; error: ApiFailure }
  | { kind: 'task'; task: WebTask; readAt: number; error?: ApiFailure | undefined };

/** A request with its Idempotency-Key: stored before it is sent, so that a reload continues it. */
interface Submission {
  key: string;
  accountId: string;
  body: Body;
  taskId?: string;
}

const STORED = 'framewright.generation';

/** What this window has sent last, unless it was for another account. */
function stored(accountId: string): Submission | undefined {
  try {
    const submission: Submission | null = JSON.parse(sessionStorage.getItem(STORED) ?? 'null');
    return submission?.accountId === accountId ? submission : undefined;
  } catch {
    return undefined;
  }
}

/** The request that is followed after a reload, for the form. */
export function followedRequest(accountId: string): Body | undefined {
  return stored(accountId)?.body;
}

function store(submission: Submission | undefined): void {
  if (submission) sessionStorage.setItem(STORED, JSON.stringify(submission));
  else sessionStorage.removeItem(STORED);
}

/** Statuses after which it is not known whether the request was taken. */
const isUncertain = ({ status }: ApiFailure) => status === 0 || status === 429 || status >= 500;

const POLL_SECONDS = { first: 1, later: 2, held: 10 };
const FIRST_POLLS = 10;

/** Sends requests and follows the newest task, also after a reload. */
export function useGeneration() {
  const { refresh } = useSession();
  const { account_id: accountId } = useMe();
  const [generation, setGeneration] = useState<Generation>({ kind: 'none' });
  const isSending = useRef(false);
  const send = useCallback(
    async (submission: Submission) => {
      if (isSending.current) return; // a second click
      isSending.current = true;
      store(submission);
      setGeneration({ kind: 'sending' });
      const next = await create(submission);
      if (next.kind === 'task') store({ ...submission, taskId: next.task.id });
      if (next.kind === 'refused') store(undefined);
      setGeneration(next);
      isSending.current = false;
      void refresh();
    },
    [refresh],
  );
  useEffect(() => {
    const before = stored(accountId);
    if (before?.taskId) void readTask(before.taskId).then(setGeneration);
    else if (before) void send(before);
  }, [send, accountId]);
  const task = generation.kind === 'task' ? generation.task : undefined;
  useFollow(task, (next) => {
    setGeneration(next);
    if (next.kind === 'task' && next.task.status !== 'processing') void refresh();
  });
  const dismiss = () => {
    store(undefined);
    setGeneration({ kind: 'none' });
  };
  return {
    generation,
    /** A new request, or the last one again if no response to it came. */
    generate(body: Body) {
      const before = stored(accountId);
      const isSame =
        before && !before.taskId && JSON.stringify(before.body) === JSON.stringify(body);
      return send(isSame ? before : { key: crypto.randomUUID(), accountId, body });
    },
    /** The last request again, with its own key. */
    async retry() {
      const before = stored(accountId);
      if (before) await send(before);
    },
    dismiss,
  };
}

async function create({ key, body }: Submission): Promise<Generation> {
  try {
    const headers = { 'idempotency-key': key };
    const task = await api<WebTask>('/console/api/generations', { method: 'POST', body, headers });
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    const isNotTaken = error.details.reason === 'not_taken';
    return { kind: isUncertain(error) && !isNotTaken ? 'lost' : 'refused', error };
  }
}

async function readTask(id: string, before?: WebTask): Promise<Generation> {
  try {
    const task = await api<WebTask>(`/console/api/generations/${id}`);
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    if (!before) return error.status === 404 ? { kind: 'none' } : { kind: 'refused', error };
    return { kind: 'task', task: before, readAt: performance.now(), error };
  }
}

/** Reads a live task again and again, while the page is visible. */
function useFollow(task: WebTask | undefined, onRead: (next: Generation) => void): void {
  const read = useRef(onRead);
  read.current = onRead;
  const polls = useRef(0);
  const id = task?.id;
  useEffect(() => {
    polls.current = 0;
  }, [id]);
  useEffect(() => {
    if (task?.status !== 'processing') return;
    let isOver = false;
    const next = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      polls.current += 1;
      const generation = await readTask(task.id, task);
      if (!isOver) read.current(generation);
    };
    const isFirst = polls.current < FIRST_POLLS;
    const { first, later, held } = POLL_SECONDS;
    const seconds = task.held !== null ? held : isFirst ? first : later;
    const timer = setTimeout(() => void next(), seconds * 1000);
    document.addEventListener('visibilitychange', next);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', next);
    };
  }, [task]);
}
