import { type Database, namedStatement, query, statement } from '../database/database.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import type { RecentTime } from '../routing/routing.ts';
import type { Task } from '../tasks/task.ts';

/** How long jobs of one kind take, in seconds from the acceptance. */
interface JobTime {
  jobs: number;
  meanSeconds: number;
  /** The mean distance from the mean. */
  deviationSeconds: number;
}

/** What decides how long a task's job takes: its provider, model, resolution and video length. */
export type TimedTask = Pick<Task, 'provider' | 'request'>;

/** The last read that found a job still working. */
interface WorkingRead {
  /** Since the acceptance. */
  seconds: number;
  /** The pause until the next read; the job may end at any moment in it. */
  pauseSeconds: number;
}

/** The fewest jobs of a kind before their mean is used. */
const FEWEST_JOBS = 3;
/** The most jobs in progress whose last read is remembered. */
const REMEMBERED_READS = 10_000;
/** The mean covers about this many recent jobs; older ones count less. */
const REMEMBERED_JOBS = 20;

const WRITE = namedStatement(
  'job_times_write',
  `insert into job_times as known
     (provider, model, resolution, video_seconds, jobs, mean_seconds, deviation_seconds)
   select provider, model, resolution, video_seconds, jobs, mean, deviation
   from unnest(:providers::text[], :models::text[], :resolutions::text[],
     :lengths::int[], :jobs::bigint[], :means::float8[], :deviations::float8[])
     as given (provider, model, resolution, video_seconds, jobs, mean, deviation)
   order by provider, model, resolution, video_seconds
   on conflict (provider, model, resolution, video_seconds) do update
   set jobs = known.jobs + excluded.jobs,
     mean_seconds = known.mean_seconds + (excluded.mean_seconds - known.mean_seconds)
       * excluded.jobs / least(known.jobs + excluded.jobs,
           greatest(${REMEMBERED_JOBS}, excluded.jobs)),
     deviation_seconds = known.deviation_seconds
       + (excluded.deviation_seconds - known.deviation_seconds)
       * excluded.jobs / least(known.jobs + excluded.jobs,
           greatest(${REMEMBERED_JOBS}, excluded.jobs))`,
);

const READ = statement(
  'job_times_read',
  `select concat_ws(' ', provider, model, resolution, video_seconds) as kind,
     jobs::float8 as jobs, mean_seconds as "meanSeconds", deviation_seconds as "deviationSeconds"
   from job_times`,
);

/** Jobs with the same connection, model and resolution, of all video lengths. */
export interface UsualTime {
  provider: string;
  model: string;
  resolution: string;
  jobs: number;
  /** From the acceptance to the end of the job. */
  meanSeconds: number;
}

export const usualTimes = query<[], UsualTime>(
  'job_times_usual',
  `select provider, model, resolution, sum(jobs)::float8 as jobs,
     (sum(mean_seconds * jobs) / sum(jobs))::float8 as "meanSeconds"
   from job_times where jobs > 0 group by provider, model, resolution
   having sum(jobs) >= ${FEWEST_JOBS}`,
);

/** The most tasks whose times are looked at. */
const RECENT_TASKS = 5000;

export const recentTimes = query<[], RecentTime>(
  'job_times_recent',
  `with recent as materialized (
     select id, provider, request->>'model' as model, request->>'resolution' as resolution,
       accepted_at from tasks
     where created_at > (select clock_now()) - interval '1 hour' and surface <> '${TEST_SURFACE}'
       and phase in ('archiving', 'completed')
     order by created_at desc limit ${RECENT_TASKS})
   select provider as connection, model, resolution,
     percentile_cont(0.5) within group (order by extract(epoch from ended_at - accepted_at)::float8)
       as seconds
   from recent cross join lateral (
     select min(at) as ended_at from task_history h
     where h.task_id = recent.id and h.phase = 'archiving' offset 0) ended
   where ended_at > accepted_at group by provider, model, resolution`,
);

export type JobTimes = ReturnType<typeof openJobTimes>;

export function openJobTimes(db: Database) {
  let known = new Map<string, JobTime>();
  let observed = new Map<string, { task: TimedTask; seconds: number[] }>();
  let isAsked = false;
  const reads = new Map<string, WorkingRead>();
  return {
    /** Remembers a read that found the job working, and the pause after it. */
    observeWorking(taskId: string, read: WorkingRead) {
      if (!reads.has(taskId)) evictOldest(reads, REMEMBERED_READS);
      reads.set(taskId, read);
    },
    /** undefined until enough jobs of this kind have succeeded. */
    expectedTime(task: TimedTask): JobTime | undefined {
      isAsked = true;
      const found = known.get(kindOf(task));
      return found && found.jobs >= FEWEST_JOBS ? found : undefined;
    },
    /**
     * Records the end of a job. It may have ended at any time in the pause before this read, so the
     * middle counts. If a callback cut the pause short, the time of the read counts.
     */
    observeEnd(task: TimedTask & Pick<Task, 'id'>, seconds: number) {
      const kind = kindOf(task);
      const { seconds: earlier } = observed.get(kind) ?? { seconds: [] };
      const ended = endBetween(reads.get(task.id), seconds);
      reads.delete(task.id);
      observed.set(kind, { task, seconds: [...earlier, ended] });
    },
    /** Stores what was observed and reads what all processes know. */
    async exchange() {
      if (!isAsked && observed.size === 0) return;
      const news = observed;
      [observed, isAsked] = [new Map(), false];
      if (news.size > 0) await write(db, [...news], known);
      const rows = await db.query<JobTime & { kind: string }>(READ);
      known = new Map(rows.map(({ kind, ...time }) => [kind, time]));
    },
  };
}

function endBetween(last: WorkingRead | undefined, seconds: number): number {
  const isPauseOver = last && seconds >= last.seconds + last.pauseSeconds;
  return isPauseOver ? (last.seconds + seconds) / 2 : seconds;
}

/** Must match the column `kind` of READ. */
function kindOf({ provider, request: { model, resolution, duration } }: TimedTask): string {
  return [provider, model, resolution, duration].join(' ');
}

async function write(
  db: Database,
  news: Array<[string, { task: TimedTask; seconds: number[] }]>,
  known: ReadonlyMap<string, JobTime>,
): Promise<void> {
  const means = news.map(([, { seconds }]) => mean(seconds));
  const deviations = news.map(([kind, { seconds }], index) => {
    const usual = known.get(kind)?.meanSeconds ?? means[index] ?? 0;
    return mean(seconds.map((value) => Math.abs(value - usual)));
  });
  const tasks = news.map(([, { task }]) => task);
  const values = WRITE.values({
    providers: tasks.map(({ provider }) => provider),
    models: tasks.map(({ request }) => request.model),
    resolutions: tasks.map(({ request }) => request.resolution),
    lengths: tasks.map(({ request }) => request.duration),
    jobs: news.map(([, { seconds }]) => seconds.length),
    means,
    deviations,
  });
  await db.query(WRITE, values);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
