import { runOperatorCommand } from '../service-process.ts';
import { until } from '../until.ts';
import {
  hasEnded,
  isForOperator,
  jobsByAttempt,
  jobsOf,
  type RecordedTask,
  recordedTasks,
} from './record.ts';
import type { Site } from './site.ts';

/** Two at a time: each is a process. */
const OPERATORS = 2;
const PATIENCE_SECONDS = 240;

/** Waits until nothing moves by itself any more, and lets an operator decide the rest. */
export async function settle(site: Site): Promise<{ decided: number }> {
  const open = await untilStill(site, isForOperator);
  const waiting = [...open];
  const decideOneByOne = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await decide(site, task);
  };
  await Promise.all(Array.from({ length: OPERATORS }, decideOneByOne));
  await untilStill(site, () => false);
  return { decided: open.length };
}

/** @returns the tasks that have not ended, once there is nothing to wait for with any of them */
async function untilStill(site: Site, isStill: typeof isForOperator): Promise<RecordedTask[]> {
  const { tasks } = await until(
    async () => {
      const open = (await recordedTasks(site.database.db)).filter((task) => !hasEnded(task));
      return { tasks: open, jobs: await jobsByAttempt(site) };
    },
    ({ tasks, jobs }) => tasks.every((task) => isStill(task, jobs)),
    PATIENCE_SECONDS,
  );
  return tasks;
}

/** What the provider's own record says, as somebody would read it off its console. */
async function decide(site: Site, task: RecordedTask): Promise<void> {
  const [job] = jobsOf(task, await jobsByAttempt(site));
  const verdict = job ? ['--accepted', job.id] : ['--not-accepted'];
  await runOperatorCommand(
    site.env,
    'reconcile',
    task.id,
    ...verdict,
    '--reason',
    "the provider's record",
  );
}
