import { statement } from '../../src/database/database.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { type CreditKind, TEST_SURFACE } from '../../src/ledger/transfer.ts';
import { audit } from '../../src/operator/audit.ts';
import { readTaskFigures } from '../../src/operator/listings/figures.ts';
import { TEST_PROVIDER } from '../../src/providers/test-provider.ts';
import { WEB_SURFACE } from '../../src/tasks/create/new-task.ts';
import type { Phase } from '../../src/tasks/task.ts';
import { splitProblems } from '../ledger/split-problems.ts';
import { PRICE } from '../task-fixtures.ts';
import { checkOrphans, type OrphanEnd, readOrphans } from './orphan-checks.ts';
import { hasRun, isBilled, type SimulatedJob } from './provider-state.ts';
import { allJobs, allStates, type Simulation } from './simulation.ts';

/** The description of endpoints that are there for the whole history. */
export const KEPT = 'kept';

/** A task as a history leaves it. */
interface TaskEnd {
  id: string;
  surface: string;
  promotional_credits: number;
  phase: Phase;
  held_cause: 'acceptance' | 'outcome' | null;
  error_code: string | null;
  idempotency_key: string;
  announced: boolean;
  is_bound: boolean;
  /** How often it entered a final phase. */
  ends: number;
  /** On the API, how often it ended or was held, less its events; on the website, 0. */
  missing_events: number;
  /** Whether an endpoint got more events of it. */
  has_extra_events: boolean;
  provider: string;
  verdict: string | null;
  attempts: Array<{
    id: string;
    provider: string;
    state: string;
    job_id: string | null;
    outcome_by: string | null;
  }>;
}

const TASKS = statement(
  'simulation_tasks',
  `select t.id, t.surface, t.promotional_credits, t.phase, t.held_cause, t.error_code, t.idempotency_key,
     t.provider, (select v.verdict from moderation_verdicts v where v.task_id = t.id) as verdict,
     t.announced_at is not null as announced, k.task_id is not distinct from t.id as is_bound,
     (select count(*) from task_history h
      where h.task_id = t.id and h.phase in ('completed', 'failed')) as ends,
     told.times - (select count(*) from webhook_deliveries d
        join webhook_endpoints e on e.id = d.endpoint_id and e.description = '${KEPT}'
        where d.task_id = t.id) as missing_events,
     exists (select from webhook_deliveries d where d.task_id = t.id
       group by d.endpoint_id having count(*) > told.times) as has_extra_events,
     (select coalesce(json_agg(a order by a.created_at), '[]') from attempts a
      where a.task_id = t.id) as attempts
   from tasks t left join idempotency_keys k
     on k.account_id = t.account_id and k.key = t.idempotency_key
   cross join lateral (
     select count(*) as times from task_history h where h.task_id = t.id
       and t.surface <> '${WEB_SURFACE}' and h.phase in ('completed', 'failed', 'held')) told
   order by t.created_at`,
);

/**
 * Checks the state that a history has left in the database and at the provider.
 * @returns one sentence for each broken promise, and how often each event occurred
 */
export async function checkHistory(simulation: Simulation, granted: Record<CreditKind, number>) {
  const tasks = await simulation.db.query<TaskEnd>(TASKS);
  const orphans = await readOrphans(simulation.db);
  const problems = [
    ...(await audit(simulation.db)).problems,
    ...(await checkCredits(simulation, tasks, granted)),
    ...(await checkTestCredits(simulation, tasks)),
    ...checkJobs(simulation, tasks),
    ...(await checkOrphans(simulation, orphans)),
    ...tasks.flatMap((task) => checkTask(simulation, task)),
    ...checkObservations(simulation, tasks),
  ];
  const named = problems.map((problem) => withNames(simulation, problem));
  return { problems: named, tally: tallyOf(simulation, tasks, orphans) };
}

function withNames({ trace }: Simulation, problem: string): string {
  return problem.replace(/\b(task|att|obj)_[0-9A-Za-z]{20,}/g, (id) => trace.nameOf(id));
}

function hasEnded({ phase }: TaskEnd): boolean {
  return phase === 'completed' || phase === 'failed';
}

async function checkCredits(
  { db, accountId }: Simulation,
  tasks: TaskEnd[],
  granted: Record<CreditKind, number>,
): Promise<string[]> {
  const all = await balances(db, accountId);
  const web = tasks.filter(({ surface }) => surface === WEB_SURFACE);
  const problems = await splitProblems(
    db,
    web.map(({ id }) => id),
  );
  for (const kind of ['paid', 'promotional'] as const) {
    const sum = (is: (task: TaskEnd) => boolean) =>
      tasks.filter(is).reduce((credits, task) => credits + partOf(task, kind), 0);
    const spent = sum(({ phase }) => phase === 'completed');
    const reserved = sum((task) => !hasEnded(task));
    const expected = { available: granted[kind] - spent - reserved, reserved };
    const [is, should] = [all[kind], expected].map((one) => `${one.available}/${one.reserved}`);
    if (is === should) continue;
    problems.push(`the account has ${is} ${kind} credits available and reserved, not ${should}`);
  }
  const wrong = tasks.filter((task) => task.surface === 'api' && task.promotional_credits > 0);
  return [...problems, ...wrong.map(({ id }) => `${id} of the API has promotional credits`)];
}

const TEST_BALANCE = statement(
  'simulation_test_balance',
  `select reserved::int, spent::int, (select coalesce(sum(reserved), 0)::int from ledger_balances
     where kind <> 'test') as reserved_of_others
   from ledger_balances where account_id = $1 and kind = 'test'`,
);

interface TestBalance {
  reserved: number;
  spent: number;
  reserved_of_others: number;
}

/** Test credits pay for the tasks of test keys, and nobody counts them as others. */
async function checkTestCredits({ db, accountId }: Simulation, tasks: TaskEnd[]) {
  const [is] = await db.query<TestBalance>(TEST_BALANCE, [accountId]);
  const figures = await readTaskFigures(db);
  const ofTests = tasks.filter(({ surface }) => surface === TEST_SURFACE);
  const priceOf = (wanted: TaskEnd[]) => wanted.length * PRICE.credits;
  const reserved = priceOf(ofTests.filter((task) => !hasEnded(task)));
  const spent = priceOf(ofTests.filter(({ phase }) => phase === 'completed'));
  const problems: string[] = [];
  if (is?.reserved !== reserved || is.spent !== spent) {
    problems.push(`${is?.reserved}/${is?.spent} test credits, not ${reserved}/${spent}`);
  }
  const shown = figures.live.reduce((sum, { credits }) => sum + credits, 0);
  if (shown !== is?.reserved_of_others) problems.push(`figures: ${shown} reserved credits`);
  if (figures.billedFailures.some(({ provider }) => provider === TEST_PROVIDER)) {
    problems.push('figures: a loss by a task of a test key');
  }
  return problems;
}

function partOf(task: TaskEnd, kind: CreditKind): number {
  const { promotional_credits: promotional, surface } = task;
  if (surface === TEST_SURFACE) return 0;
  return kind === 'promotional' ? promotional : PRICE.credits - promotional;
}

/** States of an attempt that say that it certainly made no job. */
const NO_JOB = ['rejected', 'not_sent', 'absent'];
/** Of one whose job certainly failed unbilled, so that the task was tried again elsewhere. */
const REPLACED = 'replaced';

/** Each job ran for an attempt on record, and at most one job per task that was not replaced. */
function checkJobs(simulation: Simulation, tasks: TaskEnd[]): string[] {
  const nowMs = simulation.scheduler.nowMs();
  const ran = allJobs(simulation).filter((job) => hasRun(job, nowMs));
  const taskOf = (job: SimulatedJob) =>
    tasks.find(({ attempts }) => attempts.some(({ id }) => id === job.attemptId));
  return [
    ...ran.filter((job) => !taskOf(job)).map((job) => `${job.id} ran for no attempt on record`),
    ...tasks.flatMap(({ attempts }) => {
      const ruledOut = attempts.filter(({ state }) => NO_JOB.includes(state));
      const wrong = ran.filter((job) => ruledOut.some(({ id }) => id === job.attemptId));
      return wrong.map((job) => `${job.attemptId} was ruled out, but ${job.id} ran for it`);
    }),
    ...tasks.flatMap((task) => {
      const replaced = task.attempts.filter(({ state }) => state === REPLACED);
      const isReplaced = (job: SimulatedJob) => replaced.some(({ id }) => id === job.attemptId);
      const jobs = ran.filter((job) => taskOf(job) === task);
      const isOnce = replaced.length <= 1 && jobs.filter((job) => !isReplaced(job)).length <= 1;
      const isFree = !jobs.some((job) => isReplaced(job) && job.ending !== 'fails');
      return isOnce && isFree ? [] : [`${jobs.length} jobs ran for ${task.id}`];
    }),
  ];
}

function checkTask(simulation: Simulation, task: TaskEnd): string[] {
  const problems: string[] = [];
  const report = (what: string) => problems.push(`${task.id} (${task.phase}): ${what}`);
  if (task.ends !== (hasEnded(task) ? 1 : 0)) report(`it ended ${task.ends} times`);
  if (task.missing_events !== 0) report(`it lacks ${task.missing_events} events`);
  if (task.has_extra_events) report('an endpoint got more events than there were');
  if (!hasEnded(task) && task.phase !== 'held') report('it neither ended nor is held');
  const live = task.attempts.filter(({ state }) => ![...NO_JOB, REPLACED].includes(state));
  if (live.some(({ provider }) => provider !== task.provider)) report('it left a live attempt');
  const isChecked = simulation.settings.isModerated && task.surface !== TEST_SURFACE;
  if (isChecked && task.attempts.length > 0 && task.verdict !== 'allow') {
    report(`it was submitted, and the verdict is ${task.verdict}`);
  }
  const accepted = task.attempts.find(({ state }) => state === 'accepted');
  const job = allJobs(simulation).find(({ id }) => id === accepted?.job_id);
  if (accepted && job?.attemptId !== accepted.id) {
    report(`${accepted.id} has ${accepted.job_id}, which ran for ${job?.attemptId}`);
  }
  if (task.phase === 'completed' && !(job && isBilled(job, simulation.scheduler.nowMs()))) {
    report('it has no billed job');
  }
  const runsOn = job && !job.isCancelled && !job.ending.startsWith('fails');
  if (task.error_code === 'cancelled' && runsOn) report('it was refunded, and its job runs on');
  const reason = task.phase === 'held' ? whyHeld(simulation, task) : 'ended';
  if (!reason) report(`it is held (${task.held_cause}) without a reason`);
  return problems;
}

/** Why the outcome can't be known; undefined when it could have been found out. */
function whyHeld(simulation: Simulation, task: TaskEnd): string | undefined {
  const { held_cause, attempts } = task;
  const { scheduler } = simulation;
  const attempt = attempts.at(-1);
  const providerState = allStates(simulation).find(({ profile }) => profile.name === task.provider);
  if (!providerState) return undefined;
  const job = providerState.jobs.find(({ attemptId }) => attemptId === attempt?.id);
  if (held_cause === 'outcome') {
    if (job?.ending === 'never') return 'the job never ends';
    if (job && job.vanishesAtMs < scheduler.nowMs()) return 'the job vanished';
    return job && job.output !== 'good' ? `the output is ${job.output}` : undefined;
  }
  const { absence, find, shows } = providerState.profile;
  if (absence !== 'weak') return undefined;
  if (!job) return 'absence proves nothing';
  if (job.vanishesAtMs < scheduler.nowMs()) return 'the job vanished';
  return find === 'list' && shows === 'mark'
    ? undefined
    : 'the job can not be distinguished from others';
}

function checkObservations({ observations }: Simulation, tasks: TaskEnd[]): string[] {
  const problems: string[] = [];
  const boundTo = new Map<string, string>();
  const endOf = new Map<string, string>();
  for (const observation of observations.all()) {
    if (!('taskId' in observation)) continue;
    const { client, key, taskId } = observation;
    const task = tasks.find(({ id }) => id === taskId);
    if (!task) problems.push(`${client} got ${taskId}, which does not exist`);
    if (observation.kind === 'refunded') {
      if (task?.phase !== 'failed')
        problems.push(`${taskId} was reported refunded: ${task?.phase}`);
      continue;
    }
    const before = boundTo.get(key) ?? taskId;
    if (before !== taskId) problems.push(`${key} was bound to ${before}, then to ${taskId}`);
    boundTo.set(key, taskId);
    if (task && !task.is_bound) problems.push(`${key} was bound to ${taskId} and is not any more`);
    const { status } = observation;
    const end = endOf.get(client + taskId);
    if (end && end !== status) problems.push(`${taskId} was reported ${end}, then ${status}`);
    if (status !== 'completed' && status !== 'failed') continue;
    endOf.set(client + taskId, status);
    if (task?.phase !== status)
      problems.push(`${taskId} was reported ${status}: it is ${task?.phase}`);
  }
  return [...problems, ...checkKeys(tasks)];
}

/** A key was released only by unannounced tasks that were not accepted. */
function checkKeys(tasks: TaskEnd[]): string[] {
  return tasks
    .filter((task) => !task.is_bound && (task.announced || task.error_code !== 'not_accepted'))
    .map((task) => `${task.id} (${task.phase} ${task.error_code}) lost ${task.idempotency_key}`);
}

function tallyOf(
  { route, observations, acts }: Simulation,
  tasks: TaskEnd[],
  orphans: OrphanEnd[],
): Record<string, number> {
  const tally: Record<string, number> = Object.fromEntries(acts);
  const count = (what: string) => {
    tally[what] = (tally[what] ?? 0) + 1;
  };
  for (const { profile } of route) count(`provider ${profile.name}`);
  for (const task of tasks) {
    const { phase, held_cause, error_code, attempts, is_bound } = task;
    if (partOf(task, 'promotional') * partOf(task, 'paid') > 0) count(`both kinds ${phase}`);
    count(`task ${phase} ${held_cause ?? error_code ?? ''}`.trim());
    if (!is_bound) count('key released');
    const tried = new Set(attempts.map(({ provider }) => provider)).size;
    if (tried > 1) count(`task ${phase} after ${tried} connections`);
    if (task.surface === TEST_SURFACE) count(`test task ${phase}`);
    for (const { state, outcome_by } of attempts) count(`attempt ${state} by ${outcome_by}`);
  }
  for (const { state } of orphans) count(`orphan ${state}`);
  for (const { kind } of observations.all()) count(`observed ${kind}`);
  return tally;
}
