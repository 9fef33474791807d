import type { Database } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { TEST_SURFACE } from '../../src/ledger/transfer.ts';
import { videoTask } from '../../src/requests/video-task.ts';
import { WEB_SURFACE } from '../../src/tasks/create/new-task.ts';
import { publicColumns, readTasks, type Task } from '../../src/tasks/task.ts';
import { awaitResponse, isBeforeAcceptance, type Waiting } from '../../src/tasks/waiting.ts';
import { quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { bindingFor, createTask, REQUEST, requestFor } from '../task-fixtures.ts';
import { actOn } from './actors.ts';
import { LINKS, LOST_WAKE_UPS, PICTURES, pictureUrl } from './fake-deps.ts';
import type { Process } from './scheduler/process.ts';
import type { Thread } from './scheduler/scheduler.ts';
import { type ClientObservation, inProcess, namesOf, type Simulation } from './simulation.ts';

type Api = Process & { db: Database };

/** An Idempotency-Key, and the surface and the body that a client sends it with each time. */
export interface SimulatedRequest {
  key: string;
  surface: 'api' | typeof WEB_SURFACE | typeof TEST_SURFACE;
  request: typeof REQUEST;
}

export function drawRequests(random: Random, count: number): SimulatedRequest[] {
  return Array.from({ length: count }, (_, i) => {
    const prompt = `Scene ${i}`;
    const seed = random.whole(0, 1000);
    const plain = { ...REQUEST, prompt, seed };
    const surface = random.weighted({ api: 4, [WEB_SURFACE]: 3, [TEST_SURFACE]: 3 });
    if (!random.chance(0.25)) return { key: `key-${i}`, surface, request: plain };
    const picture = random.chance(0.6) ? 'good' : random.pick(PICTURES);
    const request = { ...plain, mode: 'image-to-video', image_url: pictureUrl(picture) } as const;
    return { key: `key-${i}`, surface, request };
  });
}

/** Sends its requests, some of them several times, and reads their tasks. */
export async function runClient(
  simulation: Simulation,
  thread: Thread,
  requests: SimulatedRequest[],
): Promise<void> {
  const { random, observations, trace } = simulation;
  await inProcess(simulation, thread, async (own) => {
    const calls = requests.length * 3;
    for (let i = 0; i < calls; i += 1) {
      await own.sleep(random.between(0, random.pick([0.5, 4, 15])));
      const planned = requests[i] ?? random.pick(requests);
      const taskId = observations.taskOf(thread.name, planned.key);
      const observation = await serve(simulation, thread, planned, taskId);
      if (!observation) continue;
      trace.note(thread.name, `got ${describeObservation(simulation, observation)}`);
      observations.add({ client: thread.name, ...observation });
    }
  });
}

/** What a client does next with its key, whose task it may know. */
function requestOf(
  simulation: Simulation,
  api: Api,
  planned: SimulatedRequest,
  taskId: string | undefined,
): Promise<Observed | undefined> {
  const { random } = simulation;
  if (taskId === undefined || random.chance(0.5)) return post(simulation, api, planned);
  if (random.chance(0.5)) return readStatus(api, taskId, planned.key);
  return actOn(simulation, api.db, taskId).then((isRefunded) =>
    isRefunded ? { key: planned.key, kind: 'refunded', taskId } : undefined,
  );
}

function describeObservation({ trace }: Simulation, observation: Observed): string {
  const status = observation.kind === 'bound' ? observation.status : '';
  const task = 'taskId' in observation ? trace.nameOf(observation.taskId) : '';
  return [observation.key, observation.kind, task, status].filter((word) => word !== '').join(' ');
}

type Observed = ClientObservation extends infer One
  ? One extends ClientObservation
    ? Omit<One, 'client'>
    : never
  : never;

/** One request to an API process of its own; undefined if that died, or its response was lost. */
async function serve(
  simulation: Simulation,
  thread: Thread,
  planned: SimulatedRequest,
  taskId: string | undefined,
): Promise<Observed | undefined> {
  const observed = await inProcess(simulation, thread, (api) =>
    requestOf(simulation, api, planned, taskId),
  );
  return simulation.stage === 'faulty' && simulation.random.chance(0.1) ? undefined : observed;
}

async function readStatus(api: Api, taskId: string, key: string): Promise<Observed> {
  const tasks = await readTasks(api.db, [taskId]).catch(() => undefined);
  if (tasks === undefined) return { key, kind: 'busy' };
  const [task] = tasks;
  if (!task) throw new Error(`${taskId} was in a response and does not exist`);
  const { status } = videoTask(publicColumns(task), LINKS);
  // An unannounced task that failed may have released its key: this says nothing about the key.
  return status === 'failed'
    ? { key, kind: 'refunded', taskId }
    : { key, kind: 'bound', taskId, status };
}

/**
 * POST /api/v1/video/generations, or the create of the website, which does not wait; without the
 * checks that come before the key.
 */
async function post(
  simulation: Simulation,
  api: Api,
  { key, surface, request }: SimulatedRequest,
): Promise<Observed> {
  const createWaitSeconds = surface === WEB_SURFACE ? 0 : simulation.settings.createWaitSeconds;
  const deps = {
    db: api.db,
    wakeUps: LOST_WAKE_UPS,
    log: quiet,
    createWaitSeconds,
  };
  const { route, testState } = simulation;
  const [name] = namesOf(surface === TEST_SURFACE ? [testState] : route);
  const binding = { ...bindingFor(simulation.accountId, key, request.prompt), surface };
  try {
    const { kind, task } = await createTask(deps, requestFor(binding, request, undefined, name));
    if (kind === 'replayed' || surface === WEB_SURFACE) return boundTo(key, task);
    const waiting = waitingOf(simulation, api);
    return boundTo(key, await awaitResponse({ ...deps, waiting }, task));
  } catch (error) {
    if (error instanceof ApiError) return refusalOf(key, error);
    throw error;
  }
}

function boundTo(key: string, task: Task): Observed {
  const { status } = videoTask(publicColumns(task), LINKS);
  return { key, kind: 'bound', taskId: task.id, status };
}

function refusalOf(key: string, { code, details }: ApiError): Observed {
  if (code === 'insufficient_credits') return { key, kind: 'no_credits' };
  const taskId = details?.credits === undefined ? undefined : details.task_id;
  if (typeof taskId !== 'string') return { key, kind: 'busy' };
  if (code === 'invalid_request') return { key, kind: 'bound', taskId, status: 'failed' };
  return details?.credits === 'held'
    ? { key, kind: 'bound', taskId, status: 'held' }
    : { key, kind: 'refunded', taskId };
}

/** Waits as tasks/waiting.ts does, on the simulation's clock. */
function waitingOf({ random }: Simulation, api: Api): Pick<Waiting, 'untilDecided'> {
  return {
    async untilDecided(taskId, seconds) {
      const endsAtMs = api.nowMs() + seconds * 1000;
      const isStopping = random.chance(0.05);
      while (api.nowMs() < endsAtMs) {
        await api.sleep(random.between(0.03, 3));
        const [task] = await readTasks(api.db, [taskId]).catch(() => []);
        if (task && !isBeforeAcceptance(task)) return task;
        if (isStopping) return undefined;
      }
      return undefined;
    },
  };
}
