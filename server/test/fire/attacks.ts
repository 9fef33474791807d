import { setTimeout as delay } from 'node:timers/promises';
import { statement } from '../../src/database/database.ts';
import type { Random } from '../random.ts';
import { until } from '../until.ts';
import type { Deployment } from './deployment.ts';

type Attack = 'worker' | 'api' | 'simulator' | 'database' | 'disk';

/** How many of each: one for this many tasks, but never less than this. */
const COUNTS: Record<Attack, { atLeast: number; oneForTasks: number }> = {
  worker: { atLeast: 2, oneForTasks: 25 },
  api: { atLeast: 2, oneForTasks: 40 },
  simulator: { atLeast: 1, oneForTasks: 40 },
  database: { atLeast: 1, oneForTasks: 80 },
  disk: { atLeast: 1, oneForTasks: 125 },
};

/** A random pause up to this long precedes each attack, so that it hits any moment of a task. */
const MAX_AIM_SECONDS = 1;
const MAX_OUTAGE_SECONDS = 1;
/** All attacks have begun once this share of the requests is confirmed: the last ones hit work too. */
const ATTACKED_SHARE = 0.75;

/** The attacks for this number of tasks, in random order. */
export function planAttacks(tasks: number, random: Random): Attack[] {
  const attacks: Attack[] = [];
  for (const kind of ['worker', 'api', 'simulator', 'database', 'disk'] as const) {
    const { atLeast, oneForTasks } = COUNTS[kind];
    const count = Math.max(atLeast, Math.round(tasks / oneForTasks));
    for (let i = 0; i < count; i += 1) attacks.splice(random.whole(0, attacks.length), 0, kind);
  }
  return attacks;
}

/** Spreads the attacks over the load. What is killed restarts by itself. */
export async function attackAll(
  deployment: Deployment,
  attacks: Attack[],
  { random, tasks, confirmed }: { random: Random; tasks: number; confirmed: () => number },
): Promise<void> {
  for (const [i, attack] of attacks.entries()) {
    const due = Math.floor((ATTACKED_SHARE * tasks * (i + 0.5)) / attacks.length);
    await until(
      async () => confirmed(),
      (count) => count >= due,
      300,
    );
    await delay(random.below(MAX_AIM_SECONDS * 1000));
    await execute(deployment, attack, random);
  }
}

function execute(deployment: Deployment, attack: Attack, random: Random): Promise<void> {
  switch (attack) {
    case 'worker':
      return random.pick(deployment.workers).kill();
    case 'api':
      return deployment.api.kill();
    case 'simulator':
      return deployment.provider.kill();
    case 'database':
      return deployment.database.restart(random.below(MAX_OUTAGE_SECONDS * 1000) / 1000);
    case 'disk':
      return fillDisk(deployment);
  }
}

const DISK_EFFECTS = statement(
  'test_disk_effects',
  `select count(*) filter (where phase = 'archiving' and internal_failures > 0)::int as failures,
     count(*) filter (where phase not in ('completed', 'failed', 'held'))::int as moving
   from tasks`,
);

/** Keeps the disk full until an archive step failed for it, or no task is left that could. */
async function fillDisk({ disk, database }: Deployment): Promise<void> {
  if (disk.excuse !== undefined) return;
  const freeDisk = await disk.fill();
  try {
    await until(
      () => database.db.query<{ failures: number; moving: number }>(DISK_EFFECTS),
      ([row]) => row !== undefined && (row.failures > 0 || row.moving === 0),
      300, // the provider's faults may all meet the last task that moves
    );
  } finally {
    await freeDisk();
  }
}
