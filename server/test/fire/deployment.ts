import path from 'node:path';
import type { RequestLine } from '../../../simulators/kit/control.ts';
import { createFaultSource } from '../../../simulators/kit/faults.ts';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import { mountSmallDisk, type SmallDisk } from '../crash/small-disk.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { type MediaHost, startMediaHost } from '../media/media-host.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { UNLISTED } from './requests.ts';
import { openRestartingDatabase, type RestartingDatabase } from './restarting-database.ts';
import { keepRunning, type RestartingProcess } from './restarting-process.ts';

const FAULT_RATE = 0.33;
/** The most that a task's files take on the disk, files in transfer included. */
const BYTES_PER_TASK = 2 ** 19;
/** Beside the floors of uploads and creates, and the reserve for the outputs of live tasks. */
const MIN_DISK_BYTES = 256 * 2 ** 20;
const FOR_EVER_SECONDS = 86_400;

/** One database, one API, two workers, one simulated provider, one media host and one disk. */
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
    const diskBytes = MIN_DISK_BYTES + options.tasks * BYTES_PER_TASK;
    const disk = stack.use(await mountSmallDisk(path.join(folder.path, 'data'), diskBytes));
    const host = await startMediaHost();
    stack.defer(() => host.close());
    const bytes = await imageBytes('png', 96, 54);
    const imageUrl = host.serve('/frame.png', { kind: 'bytes', bytes });
    const provider = await startFaultyProvider(folder.path, options.seed);
    stack.defer(() => provider.simulator.stop());
    const { address } = provider;
    const env = {
      DATABASE_URL: database.url,
      DATA_DIR: disk.path,
      PROVIDER: 'ark',
      ARK_API_KEY: 'fire',
      ARK_BASE_URL: `${address}/api/v3`,
      OUTBOUND_ALLOW: `localhost:${host.port}`,
      PROVIDER_ALLOW: new URL(address).host,
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

/** Shorter waits than the defaults, so that the test sees retries and finds within its minutes. */
const TIMES = {
  CREATE_WAIT_SECONDS: '3',
  SUBMIT_TIMEOUT_SECONDS: '3',
  RECONCILE_SECONDS: '0.5',
  ARK_SUBMITS_PER_MINUTE: '6000',
  LOG_LEVEL: 'info',
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

/** The simulated provider: its faults change with each restart, its record of jobs stays. */
interface FaultyProvider {
  simulator: RestartingProcess<SimulatorProcess>;
  address: string;
  /** Kills it; it restarts at the same address, with other faults. */
  kill(): Promise<void>;
  /** Restarts it without faults. */
  stopFaults(): Promise<void>;
  /** About how many faults it has made, without those planned for unlisted jobs. */
  faultsDrawn(): number;
}

async function startFaultyProvider(folder: string, seed: number): Promise<FaultyProvider> {
  let run = { seed, rate: FAULT_RATE };
  let port = '0';
  let faults = 0;
  const simulator = keepRunning('simulator', async () => {
    const args = ['--port', port, '--seed', String(run.seed), '--fault-rate', String(run.rate)];
    const running = await startSimulator('ark', folder, args);
    port = new URL(running.url).port;
    if (run.rate > 0) await running.plan(UNLISTED_PLAN);
    return running;
  });
  const kill = async (rate: number) => {
    const requests = await (await simulator.current()).requests().catch(() => []);
    faults += faultsIn(requests, run);
    run = { seed: run.seed + 1, rate };
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

/** To how many of these requests a run with this seed gave a fault: it draws once for each. */
function faultsIn(requests: RequestLine[], { seed, rate }: { seed: number; rate: number }) {
  const faults = [{ kind: 'refuse' as const }];
  const drawn = { submit: faults, read: faults, find: faults, output: faults };
  const source = createFaultSource({ seed, rate, drawn });
  return requests.filter(({ call }) => source.take(call, '').length > 0).length;
}
