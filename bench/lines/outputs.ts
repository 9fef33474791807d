import { setTimeout as delay } from 'node:timers/promises';
import { statement } from '../../server/src/database/database.ts';
import type { TestVideo } from '../../server/test/media/media-files.ts';
import { makeFundedKeys, openBenchSetup, startClients } from '../bench-setup.ts';
import { withInstantProvider } from '../instant-provider.ts';
import { median, spread } from '../load.ts';
import { serverPid, treeSeconds } from '../process-usage.ts';

const ROUNDS = 3;
const CLIENTS = 4;
const KEY_COUNTS = { accounts: 20, keysEach: 10 };
const LARGE = { b: '12M', maxrate: '12M', bufsize: '12M' };

/** H.264 with sound and a keyframe every two seconds; the larger one has 12 Mbit/s. */
const OUTPUTS: Array<{ name: string; tasks: number; video: TestVideo }> = [
  {
    name: '5 s of 720p',
    tasks: 24,
    video: { width: 1280, height: 720, seconds: 5, audio: 'with' },
  },
  {
    name: '15 s of 1080p',
    tasks: 8,
    video: {
      width: 1920,
      height: 1080,
      seconds: 15,
      audio: 'with',
      maxBFrames: 2,
      filters: 'noise=alls=12:allf=t',
      codecOptions: LARGE,
    },
  },
];

/** How each side handles an output. `usual` is the default. */
const SIDES = {
  usual: { CONTENT_CREDENTIALS: 'on' },
  unsigned: { CONTENT_CREDENTIALS: 'off' },
  /** Unsigned too. */
  full: { CONTENT_CREDENTIALS: 'off', OUTPUT_CHECK: 'full' },
} as const;

/** Milliseconds of each task. */
type Round = Record<keyof typeof SIDES, number>;

/**
 * Tasks from their create until they are completed and have a poster, by a service of each side in
 * turns. The clients and the simulated provider are not included.
 */
export async function measureOutputs() {
  const costs = [];
  for (const { name, tasks, video } of OUTPUTS) {
    const rounds = await withInstantProvider(({ env }) => measureRounds(env, tasks), {
      output: video,
    });
    const medianOf = (side: keyof Round) => median(rounds.map((round) => round[side]));
    costs.push({
      name,
      milliseconds: medianOf('usual'),
      unsignedMilliseconds: medianOf('unsigned'),
      fullMilliseconds: medianOf('full'),
      ratio: spread(rounds.map(({ usual, unsigned }) => usual / unsigned)),
    });
  }
  return costs;
}

async function measureRounds(env: Record<string, string>, tasks: number): Promise<Round[]> {
  await using usual = await openSide({ ...env, ...SIDES.usual });
  await using unsigned = await openSide({ ...env, ...SIDES.unsigned });
  await using full = await openSide({ ...env, ...SIDES.full });
  const measure = async (count: number): Promise<Round> => ({
    usual: await usual.measure(count),
    unsigned: await unsigned.measure(count),
    full: await full.measure(count),
  });
  await measure(1);
  const rounds: Round[] = [];
  while (rounds.length < ROUNDS) rounds.push(await measure(tasks));
  return rounds;
}

const DONE = statement(
  'bench_with_poster',
  `select count(*) filter (where phase = 'completed' and exists (select from stored_objects
       where owner_id = tasks.id and role = 'poster' and state = 'ready'))::int as done,
     count(*) filter (where phase in ('failed', 'held'))::int as bad from tasks`,
);

async function openSide(env: Record<string, string>) {
  await using opened = new AsyncDisposableStack();
  const { db, startService } = opened.use(await openBenchSetup());
  const keys = await makeFundedKeys(db, KEY_COUNTS);
  const service = opened.use(await startService({ ...env, POSTERS: 'yes' }));
  const setup = { url: service.url, clients: CLIENTS, act: 'create', targets: keys } as const;
  const clients = opened.use(await startClients(setup));
  const server = await serverPid(db);
  const cpuSeconds = async () => (await treeSeconds(service.pid)) + (await treeSeconds(server));
  let expected = 0;
  const rest = opened.move();
  return {
    /** @returns the CPU time of each of so many tasks, in milliseconds */
    async measure(tasks: number): Promise<number> {
      const before = await cpuSeconds();
      await clients.send({ acts: tasks });
      expected += tasks;
      for (let done = 0; done < expected; ) {
        await delay(100);
        const [row] = await db.query<{ done: number; bad: number }>(DONE);
        if (!row || row.bad > 0) throw new Error(`${row?.bad} tasks were not completed`);
        done = row.done;
      }
      return (((await cpuSeconds()) - before) * 1000) / tasks;
    },
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}
