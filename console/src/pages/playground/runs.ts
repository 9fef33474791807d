import type { Me } from '../../../../server/src/site/account/me.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { ApiFailure } from '../../api.ts';
import { isKeptFor, trying } from '../../personal.ts';
import type { Body } from './form-model.ts';

/**
 * The outcome of a request. `lost`: no response came, so it may have been accepted; only the user
 * decides whether to retry it, with the same key. `refused`: nothing was created or charged.
 */
export type Generation =
  | { kind: 'sending' }
  /** After a reload. `interrupted`: it was in progress; `gone`: there is no such task. */
  | { kind: 'reading' | 'interrupted' | 'gone' }
  | { kind: 'lost'; error: ApiFailure }
  | { kind: 'refused'; error: ApiFailure }
  | { kind: 'task'; task: ShownTask; readAt: number; error?: ApiFailure | undefined };

/** A request with its Idempotency-Key: stored before it is sent, so that a reload can resume it. */
export interface Submission {
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

/** By mode: requests of one mode are never sent in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };
/** Older ones are in the gallery. */
const MOST = 5;

/** The account and mode that the runs belong to. */
export type Owner = Pick<Me, 'account_id' | 'mode'>;

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

/** Not after a sign-out, when a response may still arrive. */
export function store({ owner: { account_id: accountId, mode }, runs }: Book): void {
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
export function withNewest(runs: Run[], run: Run): Run[] {
  const others = runs.filter(
    ({ submission, generation: { kind } }) =>
      submission.key !== run.submission.key && kind !== 'refused',
  );
  return [run, ...others.filter((one, at) => at < MOST - 1 || !isOver(one))];
}

export interface Book {
  owner: Owner;
  runs: Run[];
  /** Updates the page, if it is open. */
  show(runs: Run[]): void;
  refresh(): unknown;
}

/** Outlive the page, so that requests continue while another page is shown. */
const books = new Map<string, Book>();

export function bookOf(owner: Owner): Book {
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
