import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Me } from '../../../../server/src/site/account/me.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { ignoringErrors, isKeptFor } from '../../personal.ts';
import { useSession } from '../../session.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Body } from './form-model.ts';

/** A request with its Idempotency-Key: stored before it is sent, so that a reload can resume it. */
interface Submission {
  key: string;
  accountId: string;
  body: Body;
  /** The same for all variations that were sent together. */
  batch?: string;
}

/**
 * A request that has no task yet. `interrupted`: it was under way at a reload. `lost`: no response
 * came, so it may have been accepted; only the user decides whether to retry it, with the same key.
 * `refused`: nothing was created or charged.
 */
export type Run = { submission: Submission } & (
  | { kind: 'sending' | 'interrupted' }
  | { kind: 'lost' | 'refused'; error: ApiFailure }
);

/** Storage keys by mode: requests of one mode are never sent in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };

/** The account and mode that the runs belong to. */
type Owner = Pick<Me, 'account_id' | 'mode'>;

/** `taskId`: kept by an earlier release, whose requests stayed here when they had a task. */
type Kept = Submission & { isLost?: boolean; taskId?: string };

/** This window's requests without a task, newest first, if they are this account's. */
function stored({ account_id: accountId, mode }: Owner): Run[] {
  const read = () => {
    const found: Kept[] = JSON.parse(sessionStorage.getItem(STORED[mode]) ?? '[]');
    return found.filter(
      (submission) => submission.accountId === accountId && submission.taskId === undefined,
    );
  };
  return (ignoringErrors(read) ?? []).map(restored);
}

function restored({ isLost, ...submission }: Kept): Run {
  if (!isLost) return { submission, kind: 'interrupted' };
  const error = new ApiFailure('No response came.', { status: 0, code: 'offline' });
  return { submission, kind: 'lost', error };
}

/** Stores nothing after a sign-out, when a response may still arrive. */
function store({ owner: { account_id: accountId, mode }, runs }: Book): void {
  if (isLeft || !isKeptFor(accountId)) return;
  const kept = runs.flatMap(({ submission, kind }): Kept[] =>
    kind === 'refused' ? [] : [{ ...submission, isLost: kind === 'lost' }],
  );
  if (kept.length > 0) sessionStorage.setItem(STORED[mode], JSON.stringify(kept));
  else sessionStorage.removeItem(STORED[mode]);
}

interface Page {
  show(runs: Run[]): void;
  onTask(task: ShownTask): void;
  refresh(): unknown;
}

interface Book extends Page {
  owner: Owner;
  runs: Run[];
}

/** The books outlive the page, so that requests continue while another page is shown. */
const books = new Map<string, Book>();

function bookOf(owner: Owner): Book {
  const name = `${owner.mode} ${owner.account_id}`;
  const closed: Page = { show() {}, onTask() {}, refresh() {} };
  const book = books.get(name) ?? { owner, runs: stored(owner), ...closed };
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

function change(book: Book, next: Run[]): void {
  book.runs = next;
  store(book);
  book.show(next);
}

function without(book: Book, gone: Run[]): Run[] {
  const keys = new Set(gone.map(({ submission: { key } }) => key));
  return book.runs.filter(({ submission: { key } }) => !keys.has(key));
}

/** A run that has a task is over here: the list of tasks has it. */
function settle(book: Book, run: Run, outcome: ShownTask | Run): void {
  if ('kind' in outcome) {
    const { key } = run.submission;
    change(
      book,
      book.runs.map((run) => (run.submission.key === key ? outcome : run)),
    );
  } else {
    change(book, without(book, [run]));
    book.onTask(outcome);
  }
}

/** Sends requests, each with its own key, and drops what was refused before. */
async function send(book: Book, submissions: Submission[]): Promise<void> {
  const sent = submissions.map((submission): Run => ({ submission, kind: 'sending' }));
  change(book, [...sent, ...without(book, sent).filter(({ kind }) => kind !== 'refused')]);
  await Promise.all(
    sent.map(async (run) => settle(book, run, await create(book.owner, run.submission))),
  );
  void book.refresh();
}

/** Sends new requests, or resends earlier ones that got no response. */
async function generate(book: Book, bodies: Body[]): Promise<void> {
  if (book.runs.some(({ kind }) => kind === 'sending')) return; // a second click
  const same = lostBatches(book.runs).find(
    (batch) =>
      JSON.stringify(batch.map(({ submission }) => submission.body)) === JSON.stringify(bodies),
  );
  const { account_id: accountId } = book.owner;
  const batch = bodies.length > 1 ? { batch: crypto.randomUUID() } : {};
  const fresh = bodies.map((body) => ({ key: crypto.randomUUID(), accountId, body, ...batch }));
  await send(book, same ? same.map(({ submission }) => submission) : fresh);
}

export type Failed = Extract<Run, { error: ApiFailure }>;

/** Requests that failed alike and were sent together. */
function batchesOf(runs: Run[], kind: Failed['kind']): Failed[][] {
  const failed = runs.filter((run): run is Failed => run.kind === kind);
  return [...Map.groupBy(failed, ({ submission: { key, batch } }) => batch ?? key).values()];
}

export const lostBatches = (runs: Run[]) => batchesOf(runs, 'lost');
export const refusedBatches = (runs: Run[]) => batchesOf(runs, 'refused');

/** Gives up requests that got no response, unless they have arrived. */
async function discard(book: Book, runs: Run[]): Promise<void> {
  const outcomes = await Promise.all(
    runs.map(async (run) => ({ run, task: await arrived(book.owner, run) })),
  );
  const found = outcomes.filter(({ task }) => task);
  change(book, without(book, runs));
  for (const { task } of found) if (task) book.onTask(task);
  toast(
    found.length > 0
      ? 'The request had arrived: this is its video.'
      : 'Discarded. If the request arrives after all, its video is under Videos.',
  );
}

/** On opening the page: resends interrupted requests, and asks for those without a response. */
function resume(book: Book): void {
  change(
    book,
    book.runs.filter(({ kind }) => kind !== 'refused'),
  );
  const interrupted = book.runs.filter(({ kind }) => kind === 'interrupted');
  if (interrupted.length > 0) {
    toast(
      'The page was reloaded before a response came, so it has sent the same request again: nothing is made or charged twice.',
    );
    void send(
      book,
      interrupted.map(({ submission }) => submission),
    );
  }
  for (const run of book.runs.filter(({ kind }) => kind === 'lost')) {
    void arrived(book.owner, run).then((task) => task && settle(book, run, task));
  }
}

/** @param me must not change while the component is mounted */
export function useRuns(me: Owner, onTask: Page['onTask']) {
  const { refresh } = useSession();
  const [book] = useState(() => bookOf(me));
  const [runs, setRuns] = useState(book.runs);
  useLayoutEffect(() => {
    Object.assign(book, { show: setRuns, onTask, refresh });
    setRuns(book.runs);
  });
  useEffect(() => resume(book), []);
  return {
    runs,
    generate: (bodies: Body[]) => generate(book, bodies),
    /** Resends requests, each with its own key. */
    retry: (lost: Run[]) =>
      send(
        book,
        lost.map(({ submission }) => submission),
      ),
    discard: (lost: Run[]) => discard(book, lost),
    dismiss: (gone: Run[]) => change(book, without(book, gone)),
  };
}

const CREATES = {
  live: 'POST /console/api/generations',
  test: 'POST /console/api/test-generations',
} as const;

/** The reasons of a 503 that reserves nothing. */
const NOT_TAKEN: unknown[] = ['not_taken', 'account_paused'];

async function create({ mode }: Owner, submission: Submission): Promise<ShownTask | Run> {
  const { key, body } = submission;
  try {
    return await api(CREATES[mode], { body, headers: { 'idempotency-key': key } });
  } catch (thrown) {
    const error = asFailure(thrown);
    const isNotTaken = NOT_TAKEN.includes(error.details.reason);
    return { submission, kind: isUncertain(error) && !isNotTaken ? 'lost' : 'refused', error };
  }
}

/** The task of a request that got no response; undefined if none is known. */
function arrived({ mode }: Owner, { submission: { key } }: Run): Promise<ShownTask | undefined> {
  const given = { params: { key }, query: { mode } };
  return api('GET /console/api/idempotency-keys/:key', given).catch(() => undefined);
}
