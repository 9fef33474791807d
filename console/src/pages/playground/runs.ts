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
 * came, so it may have been accepted; only the user decides whether to resend it, with the same
 * Idempotency-Key. `refused`: nothing was created or charged.
 */
export type Run = { submission: Submission } & (
  | { kind: 'sending' | 'interrupted' }
  | { kind: 'lost' | 'refused'; error: ApiFailure }
);

/** Storage keys by mode: requests of one mode are never sent in the other. */
const STORED = { live: 'framewright.generation', test: 'framewright.test-generation' };

/** The account and mode that the runs belong to. */
type Owner = Pick<Me, 'account_id' | 'mode'>;

/** `taskId`: written by an earlier release, which also kept requests that had a task. */
type Kept = Submission & { isLost?: boolean; taskId?: string };

/** This window's requests without a task, newest first, if they are this account's. */
function readStored({ account_id: accountId, mode }: Owner): Run[] {
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
function writeStored({ owner: { account_id: accountId, mode }, runs }: RunList): void {
  if (isLeaving || !isKeptFor(accountId)) return;
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

interface RunList extends Page {
  owner: Owner;
  runs: Run[];
}

/** By account and mode. They outlive the page, so that requests continue while another is shown. */
const runLists = new Map<string, RunList>();

function runListOf(owner: Owner): RunList {
  const name = `${owner.mode} ${owner.account_id}`;
  const noPage: Page = { show() {}, onTask() {}, refresh() {} };
  const list = runLists.get(name) ?? { owner, runs: readStored(owner), ...noPage };
  runLists.set(name, list);
  return list;
}

/** Set when the browser leaves the page: aborted requests are then not failures. */
let isLeaving = false;
addEventListener('pagehide', () => {
  isLeaving = true;
});
addEventListener('pageshow', () => {
  isLeaving = false;
  for (const list of runLists.values()) writeStored(list);
});

/**
 * Statuses that leave open whether the request was accepted. A 429 refuses this try, but says
 * nothing about an earlier try with the same key.
 */
const isUncertain = ({ status }: ApiFailure) => status === 0 || status === 429 || status >= 500;

function change(list: RunList, next: Run[]): void {
  list.runs = next;
  writeStored(list);
  list.show(next);
}

function without(list: RunList, gone: Run[]): Run[] {
  const keys = new Set(gone.map(({ submission: { key } }) => key));
  return list.runs.filter(({ submission: { key } }) => !keys.has(key));
}

/** A run that got a task is removed: the list of tasks shows it from then on. */
function setOutcome(list: RunList, run: Run, outcome: ShownTask | Run): void {
  if ('kind' in outcome) {
    const { key } = run.submission;
    change(
      list,
      list.runs.map((run) => (run.submission.key === key ? outcome : run)),
    );
  } else {
    change(list, without(list, [run]));
    list.onTask(outcome);
  }
}

/** Sends requests, each with its own key, and drops what was refused before. */
async function send(list: RunList, submissions: Submission[]): Promise<void> {
  const sent = submissions.map((submission): Run => ({ submission, kind: 'sending' }));
  change(list, [...sent, ...without(list, sent).filter(({ kind }) => kind !== 'refused')]);
  await Promise.all(
    sent.map(async (run) => setOutcome(list, run, await create(list.owner, run.submission))),
  );
  void list.refresh();
}

/** Sends requests. If a batch that got no response is the same, resends it with its keys. */
async function generate(list: RunList, bodies: Body[]): Promise<void> {
  if (list.runs.some(({ kind }) => kind === 'sending')) return; // a second click
  const earlier = lostBatches(list.runs).find(
    (batch) =>
      JSON.stringify(batch.map(({ submission }) => submission.body)) === JSON.stringify(bodies),
  );
  const { account_id: accountId } = list.owner;
  const batch = bodies.length > 1 ? { batch: crypto.randomUUID() } : {};
  const fresh = bodies.map((body) => ({ key: crypto.randomUUID(), accountId, body, ...batch }));
  await send(list, earlier ? earlier.map(({ submission }) => submission) : fresh);
}

export type WithError = Extract<Run, { error: ApiFailure }>;

/** Runs of a kind, grouped by what was sent together. */
function batchesOf(runs: Run[], kind: WithError['kind']): WithError[][] {
  const alike = runs.filter((run): run is WithError => run.kind === kind);
  return [...Map.groupBy(alike, ({ submission: { key, batch } }) => batch ?? key).values()];
}

export const lostBatches = (runs: Run[]) => batchesOf(runs, 'lost');
export const refusedBatches = (runs: Run[]) => batchesOf(runs, 'refused');

/** Gives up requests that got no response, unless they have arrived. */
async function discard(list: RunList, runs: Run[]): Promise<void> {
  const outcomes = await Promise.all(
    runs.map(async (run) => ({ run, task: await findTask(list.owner, run) })),
  );
  const found = outcomes.filter(({ task }) => task);
  change(list, without(list, runs));
  for (const { task } of found) if (task) list.onTask(task);
  toast(
    found.length > 0
      ? 'The request had arrived: this is its video.'
      : 'Discarded. If the request arrives after all, its video is under Videos.',
  );
}

/** When the page opens: resends interrupted requests, and looks up the tasks of lost ones. */
function resume(list: RunList): void {
  change(
    list,
    list.runs.filter(({ kind }) => kind !== 'refused'),
  );
  const interrupted = list.runs.filter(({ kind }) => kind === 'interrupted');
  if (interrupted.length > 0) {
    toast(
      'The page was reloaded before a response came, so it has sent the same request again: nothing is made or charged twice.',
    );
    void send(
      list,
      interrupted.map(({ submission }) => submission),
    );
  }
  for (const run of list.runs.filter(({ kind }) => kind === 'lost')) {
    void findTask(list.owner, run).then((task) => task && setOutcome(list, run, task));
  }
}

/** @param me must not change while the component is mounted */
export function useRuns(me: Owner, onTask: Page['onTask']) {
  const { refresh } = useSession();
  const [list] = useState(() => runListOf(me));
  const [runs, setRuns] = useState(list.runs);
  useLayoutEffect(() => {
    Object.assign(list, { show: setRuns, onTask, refresh });
    setRuns(list.runs);
  });
  useEffect(() => resume(list), []);
  return {
    runs,
    generate: (bodies: Body[]) => generate(list, bodies),
    /** Resends requests, each with its own key. */
    retry: (lost: Run[]) =>
      send(
        list,
        lost.map(({ submission }) => submission),
      ),
    discard: (lost: Run[]) => discard(list, lost),
    dismiss: (gone: Run[]) => change(list, without(list, gone)),
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
function findTask({ mode }: Owner, { submission: { key } }: Run): Promise<ShownTask | undefined> {
  const given = { params: { key }, query: { mode } };
  return api('GET /console/api/idempotency-keys/:key', given).catch(() => undefined);
}
