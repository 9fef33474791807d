import { runOperatorCommand } from '../service/service-process.ts';
import { until } from '../until.ts';
import type { Deployment } from './deployment.ts';
import {
  hasEnded,
  isForOperator,
  jobsByAttempt,
  jobsOf,
  type RecordedTask,
  recordedTasks,
} from './record.ts';

/** Commands at a time: each is a process. */
const OPERATORS = 2;
const PATIENCE_SECONDS = 240;

/** Waits until every task has ended or needs an operator, and then decides those as an operator. */
export async function finishAllTasks(deployment: Deployment): Promise<{ decided: number }> {
  const open = await untilIdle(deployment, isForOperator);
  const waiting = [...open];
  const decideOneByOne = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) await decide(deployment, task);
  };
  await Promise.all(Array.from({ length: OPERATORS }, decideOneByOne));
  await untilIdle(deployment, () => false);
  return { decided: open.length };
}

/** @returns the tasks that have not ended, once all of them are idle */
async function untilIdle(
  deployment: Deployment,
  isIdle: typeof isForOperator,
): Promise<RecordedTask[]> {
  const { tasks } = await until(
    async () => {
      const open = (await recordedTasks(deployment.database.db)).filter((task) => !hasEnded(task));
      return { tasks: open, jobs: await jobsByAttempt(deployment) };
    },
    ({ tasks, jobs }) => tasks.every((task) => isIdle(task, jobs)),
    PATIENCE_SECONDS,
  );
  return tasks;
}

/** Decides by the provider's own record, which an operator would read on its console. */
async function decide(deployment: Deployment, task: RecordedTask): Promise<void> {
  const [job] = jobsOf(task, await jobsByAttempt(deployment));
  const decision = job ? ['--accepted', job.id] : ['--not-accepted'];
  await runOperatorCommand(
    deployment.env,
    'reconcile',
    task.id,
    ...decision,
    '--reason',
    "the provider's record",
  );
}
