import type { Me } from '../../../../server/src/site/account/me.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { ApiFailure } from '../../api.ts';
import { isKeptFor } from '../../personal.ts';
import type { Body } from './form-model.ts';

/**
 * What became of a request. `lost`: no response came, so it may have been taken; only its sender
 * decides whether it is sent again, with the same key. `refused`: nothing was made and nothing is
 * charged.
 */
export type Generation =
  | { kind: 'sending' }
  /** After a reload. `interrupted`: it was under way; `gone`: there is no such task. */
  | { kind: 'reading' | 'interrupted' | 'gone' }
  | { kind: 'lost'; error: ApiFailure }
  | { kind: 'refused'; error: ApiFailure }
  | { kind: 'task'; task: ShownTask; readAt: number; error?: ApiFailure | undefined };

/** A request with its Idempotency-Key: stored before it is sent, so that a reload continues it. */
export interface Submission {
  key: string;
  accountId: string;
  body: Body;
  taskId?: string;
}

/** A request and what became of it. */
export interface Run {
  submission: Submission;
  generation: Generation;
  /** It was under way when the page was reloaded, and was sent again. */
  isResent?: boolean;
}

/** By mode: what was sent in one is never sent again in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };
/** The older ones are in the gallery. */
const MOST = 5;

/** Whose runs they are. */
export type Owner = Pick<Me, 'account_id' | 'mode'>;

/** A request as the window keeps it. */
type Kept = Submission & { isLost?: boolean };

/** What this window has sent, the newest first, unless it was for another account. */
function stored({ account_id: accountId, mode }: Owner): Kept[] {
  try {
    const found: Kept[] = JSON.parse(sessionStorage.getItem(STORED[mode]) ?? '[]');
    return found.filter((submission) => submission.accountId === accountId);
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
export function store({ owner: { account_id: accountId, mode }, runs }: Book): void {
  if (isLeft || !isKeptFor(accountId)) return;
  const kept = runs.flatMap(({ submission, generation: { kind } }): Kept[] =>
    kind === 'refused' ? [] : [{ ...submission, isLost: kind === 'lost' }],
  );
  if (kept.length > 0) sessionStorage.setItem(STORED[mode], JSON.stringify(kept));
  else sessionStorage.removeItem(STORED[mode]);
}

/** What a reload leaves of a run. */
function restored({ isLost, ...submission }: Kept): Run {
  if (submission.taskId !== undefined) return { submission, generation: { kind: 'reading' } };
  if (!isLost) return { submission, generation: { kind: 'interrupted' } };
  const error = new ApiFailure('No response came.', { status: 0, code: 'offline' });
  return { submission, generation: { kind: 'lost', error } };
}

/** Whether no more is to be learnt of a run, so that it makes room for others. */
const isOver = ({ generation }: Run) =>
  generation.kind === 'refused' ||
  (generation.kind === 'task' && generation.task.status !== 'processing');

/** Puts a run first, and drops the oldest ones that are over. */
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
  /** Shows them on the page, if it is open. */
  show(runs: Run[]): void;
  /** Reads the credits of the account again. */
  refresh(): unknown;
}

/** They outlive the page, so that what is under way goes on while another page is shown. */
const books = new Map<string, Book>();

export function bookOf(owner: Owner): Book {
  const name = `${owner.mode} ${owner.account_id}`;
  const runs = () => stored(owner).map(restored);
  const book = books.get(name) ?? { owner, runs: runs(), show() {}, refresh() {} };
  books.set(name, book);
  return book;
}

/** A browser that leaves the page ends what is under way: that is no failure. */
let isLeft = false;
addEventListener('pagehide', () => {
  isLeft = true;
});
addEventListener('pageshow', () => {
  isLeft = false;
  for (const book of books.values()) store(book);
});
