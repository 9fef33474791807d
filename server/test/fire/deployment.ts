import path from 'node:path';
import type { RequestLine } from '../../../simulators/kit/control.ts';
import { createFaultSource } from '../../../simulators/kit/faults.ts';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import { mountSmallDisk, type SmallDisk } from '../crash/small-disk.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { type MediaHost, startMediaHost } from '../media/media-host.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { UNLISTED } from './requests.ts';
import { openRestartingDatabase, type RestartingDatabase } from './restarting-database.ts';
import { keepRunning, type RestartingProcess } from './restarting-process.ts';

const FAULT_RATE = 0.33;
/** What a task's files take on the disk at most, with room for what is on its way. */
const BYTES_PER_TASK = 2 ** 19;
const LEAST_DISK_BYTES = 64 * 2 ** 20;
const FOR_EVER_SECONDS = 86_400;

/** Everything that runs: one database, one API, two workers, one provider, one disk. */
export interface Deployment extends AsyncDisposable {
  database: RestartingDatabase;
  disk: SmallDisk;
  host: MediaHost;
  imageUrl: string;
  api: RestartingProcess<ServiceProcess>;
  workers: [RestartingProcess<ServiceProcess>, RestartingProcess<ServiceProcess>];
  provider: FaultyProvider;
  /** For operator commands. */
  env: Record<string, string>;
  /** Where the API is now; waits while it is down. */
  url(): Promise<string>;
}

export async function startDeployment(options: {
  tasks: number;
  seed: number;
}): Promise<Deployment> {
  const stack = new AsyncDisposableStack();
  try {
    const folder = stack.use(await temporaryFolder());
    const own = path.join(folder.path, 'database');
    const database = stack.use(await openRestartingDatabase(own));
    const diskBytes = LEAST_DISK_BYTES + options.tasks * BYTES_PER_TASK;
    const disk = stack.use(await mountSmallDisk(path.join(folder.path, 'data'), diskBytes));
    const host = await startMediaHost();
    stack.defer(() => host.close());
    const bytes = await imageBytes('png', 96, 54);
    const imageUrl = host.serve('/frame.png', { kind: 'bytes', bytes });
    const provider = await startFaultyProvider(folder.path, options.seed);
    stack.defer(() => provider.simulator.stop());
    const { address } = provider;
    const env = {
      ...{ DATABASE_URL: database.url, DATA_DIR: disk.path },
      ...{ PROVIDER: 'ark', ARK_API_KEY: 'fire', ARK_BASE_URL: `${address}/api/v3` },
      OUTBOUND_ALLOW: `localhost:${host.port},${new URL(address).host}`,
      ...TIMES,
    };
    const services = await startServices(env, stack);
    const url = async () => (await services.api.current()).url;
    const deps = { database, disk, host, imageUrl, provider, env, url, ...services };
    const rest = stack.move();
    return { ...deps, [Symbol.asyncDispose]: () => rest.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** A fire burns faster than the day goes by. */
const TIMES = {
  ...{ CREATE_WAIT_SECONDS: '3', SUBMIT_TIMEOUT_SECONDS: '3', RECONCILE_SECONDS: '0.5' },
  ...{ ARK_SUBMITS_PER_MINUTE: '6000', LOG_LEVEL: 'info' },
};

async function startServices(env: Record<string, string>, stack: AsyncDisposableStack) {
  const start = (own: Record<string, string>) => startServiceProcess({ ...env, ...own });
  const first = await start({ ROLES: 'api' });
  const { url, port: PORT } = { url: first.url, port: new URL(first.url).port };
  const starts = [first];
  const api = keepRunning(
    'api',
    async () => starts.pop() ?? start({ ROLES: 'api', PORT, PUBLIC_URL: url }),
  );
  stack.defer(() => api.stop());
  const keepWorker = (name: string) => {
    const worker = keepRunning(name, () => start({ ROLES: 'worker', PUBLIC_URL: url }));
    stack.defer(() => worker.stop());
    return worker;
  };
  const workers: Deployment['workers'] = [keepWorker('worker 1'), keepWorker('worker 2')];
  await Promise.all(workers.map((worker) => worker.current()));
  return { api, workers };
}

/** The simulated provider: its faults change with each life, its record stays. */
export interface FaultyProvider {
  simulator: RestartingProcess<SimulatorProcess>;
  address: string;
  /** Kills it; it is back at the same address, with other faults. */
  kill(): Promise<void>;
  /** From now on it makes no fault. */
  stopFaults(): Promise<void>;
  /** About how many faults it has made, those planned for unlisted jobs left out. */
  faultsDrawn(): number;
}

async function startFaultyProvider(folder: string, seed: number): Promise<FaultyProvider> {
  let life = { seed, rate: FAULT_RATE };
  let port = '0';
  let faults = 0;
  const simulator = keepRunning('simulator', async () => {
    const how = ['--port', port, '--seed', String(life.seed), '--fault-rate', String(life.rate)];
    const running = await startSimulator('ark', folder, how);
    port = new URL(running.url).port;
    if (life.rate > 0) await running.plan(UNLISTED_PLAN);
    return running;
  });
  const kill = async (rate: number) => {
    const requests = await (await simulator.current()).requests().catch(() => []);
    faults += faultsIn(requests, life);
    life = { seed: life.seed + 1, rate };
    await simulator.kill();
  };
  return {
    simulator,
    address: (await simulator.current()).url,
    kill: () => kill(FAULT_RATE),
    stopFaults: () => kill(0),
    faultsDrawn: () => faults,
  };
}

const UNLISTED_PLAN = {
  match: UNLISTED,
  times: 1_000_000,
  faults: [
    { kind: 'drop_after_accepting' as const },
    { kind: 'callback_missing' as const },
    { kind: 'list_lag' as const, seconds: FOR_EVER_SECONDS },
  ],
};

/** How many of these requests a life with this seed spoiled: what it drew depends on no more. */
function faultsIn(requests: RequestLine[], { seed, rate }: { seed: number; rate: number }) {
  const some = [{ kind: 'refuse' as const }];
  const drawn = { submit: some, read: some, find: some, output: some };
  const source = createFaultSource({ seed, rate, drawn });
  return requests.filter(({ call }) => source.take(call, '').length > 0).length;
}
