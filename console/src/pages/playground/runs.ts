import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Me } from '../../../../server/src/site/account/me.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { isKeptFor, trying } from '../../personal.ts';
import { useSession } from '../../session.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Body } from './form-model.ts';

/**
 * The outcome of a request. `lost`: no response came, so it may have been accepted; only the user
 * decides whether to retry it, with the same key. `refused`: nothing was created or charged.
 */
export type Generation =
  | { kind: 'sending' }
  /** After a reload: its task is being read or is gone, or it was interrupted before it had one. */
  | { kind: 'reading' | 'interrupted' | 'gone' }
  | { kind: 'lost'; error: ApiFailure }
  | { kind: 'refused'; error: ApiFailure }
  | { kind: 'task'; task: ShownTask; readAt: number; error?: ApiFailure | undefined };

/** A request with its Idempotency-Key: stored before it is sent, so that a reload can resume it. */
interface Submission {
  key: string;
  accountId: string;
  body: Body;
  taskId?: string;
}

export interface Run {
  submission: Submission;
  generation: Generation;
  /** It was in progress when the page was reloaded, and was resent. */
  isResent?: boolean;
}

/** Storage keys by mode: requests of one mode are never sent in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };
/** How many requests are kept here; older ones are under Videos. */
const MOST = 5;

/** The account and mode that the runs belong to. */
type Owner = Pick<Me, 'account_id' | 'mode'>;

type Kept = Submission & { isLost?: boolean };

/** This window's requests, newest first, if they are this account's. */
function stored({ account_id: accountId, mode }: Owner): Kept[] {
  const read = () => {
    const found: Kept[] = JSON.parse(sessionStorage.getItem(STORED[mode]) ?? '[]');
    return found.filter((submission) => submission.accountId === accountId);
  };
  return trying(read) ?? [];
}

export function followedRequest(owner: Owner): Body | undefined {
  return stored(owner)[0]?.body;
}

/** Stores nothing after a sign-out, when a response may still arrive. */
function store({ owner: { account_id: accountId, mode }, runs }: Book): void {
  if (isLeft || !isKeptFor(accountId)) return;
  const kept = runs.flatMap(({ submission, generation: { kind } }): Kept[] =>
    kind === 'refused' ? [] : [{ ...submission, isLost: kind === 'lost' }],
  );
  if (kept.length > 0) sessionStorage.setItem(STORED[mode], JSON.stringify(kept));
  else sessionStorage.removeItem(STORED[mode]);
}

function restored({ isLost, ...submission }: Kept): Run {
  if (submission.taskId !== undefined) return { submission, generation: { kind: 'reading' } };
  if (!isLost) return { submission, generation: { kind: 'interrupted' } };
  const error = new ApiFailure('No response came.', { status: 0, code: 'offline' });
  return { submission, generation: { kind: 'lost', error } };
}

/** Whether a run's outcome is final, so that it can make room for others. */
const isOver = ({ generation }: Run) =>
  generation.kind === 'refused' ||
  (generation.kind === 'task' && generation.task.status !== 'processing');

/** Puts a run first, and drops the oldest finished ones. */
function withNewest(runs: Run[], run: Run): Run[] {
  const others = runs.filter(
    ({ submission, generation: { kind } }) =>
      submission.key !== run.submission.key && kind !== 'refused',
  );
  return [run, ...others.filter((one, at) => at < MOST - 1 || !isOver(one))];
}

interface Book {
  owner: Owner;
  runs: Run[];
  /** Updates the page, if it is open. */
  show(runs: Run[]): void;
  refresh(): unknown;
}

/** The books outlive the page, so that requests continue while another page is shown. */
const books = new Map<string, Book>();

function bookOf(owner: Owner): Book {
  const name = `${owner.mode} ${owner.account_id}`;
  const runs = () => stored(owner).map(restored);
  const book = books.get(name) ?? { owner, runs: runs(), show() {}, refresh() {} };
  books.set(name, book);
  return book;
}

/** Set when the browser leaves the page: aborted requests are then not failures. */
let isLeft = false;
addEventListener('pagehide', () => {
  isLeft = true;
});
addEventListener('pageshow', () => {
  isLeft = false;
  for (const book of books.values()) store(book);
});

/** Statuses that leave open whether the request was accepted. */
const isUncertain = ({ status }: ApiFailure) => status === 0 || status === 429 || status >= 500;

const POLL_SECONDS = { first: 1, later: 2, held: 10 };
const FIRST_POLLS = 10;

function change(book: Book, next: Run[]): void {
  book.runs = next.filter(({ generation }) => generation.kind !== 'gone');
  store(book);
  book.show(book.runs);
}

function update(book: Book, key: string, generation: Generation): void {
  const taskId = generation.kind === 'task' ? { taskId: generation.task.id } : {};
  const next = book.runs.map((run) =>
    run.submission.key === key
      ? { ...run, submission: { ...run.submission, ...taskId }, generation }
      : run,
  );
  change(book, next);
  if (generation.kind === 'task' && generation.task.status !== 'processing') void book.refresh();
}

function drop(book: Book, { submission: { key } }: Run): void {
  change(
    book,
    book.runs.filter(({ submission }) => submission.key !== key),
  );
}

async function send(book: Book, submission: Submission, isResent = false): Promise<void> {
  const run = { submission, generation: { kind: 'sending' } as const, isResent };
  change(book, withNewest(book.runs, run));
  update(book, submission.key, await create(book.owner, submission));
  void book.refresh();
}

/** Sends a new request, or resends an earlier one that got no response. */
async function generate(book: Book, body: Body): Promise<void> {
  const known = book.runs;
  if (known.some(({ generation }) => generation.kind === 'sending')) return; // a second click
  const isSame = ({ submission, generation }: Run) =>
    generation.kind === 'lost' && JSON.stringify(submission.body) === JSON.stringify(body);
  const lost = known.find(isSame)?.submission;
  await send(book, lost ?? { key: crypto.randomUUID(), accountId: book.owner.account_id, body });
}

/** Gives up a request that got no response, unless it has arrived. */
async function discard(book: Book, run: Run): Promise<void> {
  const { key } = run.submission;
  const found = await arrived(book.owner, key);
  if (found) {
    update(book, key, found);
    toast('The request had arrived: this is its video.');
  } else {
    drop(book, run);
    toast('Discarded. If the request arrives after all, its video is under Videos.');
  }
}

/** On opening the page: resends interrupted requests, and re-reads the others. */
function resume(book: Book): void {
  const before = book.runs.filter(({ generation }) => generation.kind !== 'refused');
  change(book, before);
  for (const { submission, generation } of before) {
    if (generation.kind === 'interrupted') void send(book, submission, true);
    else {
      void readAgain(book.owner, submission, generation).then((next) => {
        if (next) update(book, submission.key, next);
      });
    }
  }
}

/** @param me must not change while the component is mounted */
export function useRuns(me: Owner) {
  const { refresh } = useSession();
  const [book] = useState(() => bookOf(me));
  const [runs, setRuns] = useState(book.runs);
  useLayoutEffect(() => {
    Object.assign(book, { show: setRuns, refresh });
    setRuns(book.runs);
  }, [refresh]);
  useEffect(() => resume(book), []);
  return {
    runs,
    update: (key: string, next: Generation) => update(book, key, next),
    generate: (body: Body) => generate(book, body),
    /** Resends the request, with its own key. */
    retry: ({ submission }: Run) => send(book, submission),
    discard: (run: Run) => discard(book, run),
    dismiss: (run: Run) => drop(book, run),
  };
}

const CREATES = {
  live: 'POST /console/api/generations',
  test: 'POST /console/api/test-generations',
} as const;

/** The reasons of a 503 that reserves nothing. */
const NOT_TAKEN: unknown[] = ['not_taken', 'account_paused'];

async function create({ mode }: Owner, { key, body }: Submission): Promise<Generation> {
  try {
    const headers = { 'idempotency-key': key };
    const task = await api(CREATES[mode], { body, headers });
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    const isNotTaken = NOT_TAKEN.includes(error.details.reason);
    return { kind: isUncertain(error) && !isNotTaken ? 'lost' : 'refused', error };
  }
}

/** The task of a request that got no response; undefined if none is known. */
async function arrived({ mode }: Owner, key: string): Promise<Generation | undefined> {
  const given = { params: { key }, query: { mode } };
  const task = await api('GET /console/api/idempotency-keys/:key', given).catch(() => undefined);
  return task && { kind: 'task', task, readAt: performance.now() };
}

/** A run's current outcome, as far as it can be read. */
async function readAgain(owner: Owner, { key, taskId }: Submission, known: Generation) {
  if (taskId !== undefined) return readTask(taskId, known);
  return known.kind === 'lost' ? arrived(owner, key) : undefined;
}

/** Returns a new object even if the read fails, so that `useFollow` polls again. */
async function readTask(id: string, known: Generation): Promise<Generation> {
  try {
    const task = await api('GET /console/api/tasks/:id', { params: { id } });
    return { kind: 'task', task, readAt: performance.now() };
  } catch (thrown) {
    const error = asFailure(thrown);
    if (known.kind === 'task') return { ...known, readAt: performance.now(), error };
    return { kind: error.status === 404 ? 'gone' : 'reading' };
  }
}

/** Polls a task that is live, or could not be read yet, while the page is visible. */
export function useFollow(
  { submission: { taskId }, generation }: Run,
  onRead: (next: Generation) => void,
): void {
  const read = useRef(onRead);
  read.current = onRead;
  const polls = useRef(0);
  useEffect(() => {
    polls.current = 0;
  }, [taskId]);
  useEffect(() => {
    const task = generation.kind === 'task' ? generation.task : undefined;
    const isFollowed = generation.kind === 'reading' || task?.status === 'processing';
    if (taskId === undefined || !isFollowed) return;
    let isGone = false;
    const next = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      polls.current += 1;
      const found = await readTask(taskId, generation);
      if (!isGone) read.current(found);
    };
    const isFirst = polls.current < FIRST_POLLS;
    const { first, later, held } = POLL_SECONDS;
    const seconds = task?.held ? held : isFirst ? first : later;
    const timer = setTimeout(() => void next(), seconds * 1000);
    document.addEventListener('visibilitychange', next);
    return () => {
      isGone = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', next);
    };
  }, [generation]);
}
