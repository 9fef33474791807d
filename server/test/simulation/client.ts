import type { Database } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { createTask } from '../../src/tasks/create/create.ts';
import { awaitResponse } from '../../src/tasks/create/response.ts';
import { isBeforeAcceptance, type Waiting } from '../../src/tasks/create/waiting.ts';
import { publicColumns, readTasks, type Task, videoTask } from '../../src/tasks/task.ts';
import { quiet } from '../database.ts';
import type { Random } from '../random.ts';
import { bindingFor, PRICE, REQUEST } from '../task-fixtures.ts';
import type { Process } from './process.ts';
import { type Thread, within } from './scheduler.ts';
import { LINKS, LOST_WAKE_UPS, PICTURES, pictureUrl } from './surroundings.ts';
import type { Telling } from './tellings.ts';
import { processOn, type World } from './world.ts';

type Api = Process & { db: Database };

/** What a client sends under one Idempotency-Key, each time the same. */
export interface Order {
  key: string;
  request: typeof REQUEST;
}

export function drawOrders(random: Random, count: number): Order[] {
  return Array.from({ length: count }, (_, i) => {
    const prompt = `Scene ${i}`;
    const seed = random.whole(0, 1000);
    const plain = { ...REQUEST, prompt, seed };
    if (!random.chance(0.25)) return { key: `key-${i}`, request: plain };
    const picture = random.chance(0.6) ? 'good' : random.pick(PICTURES);
    const request = { ...plain, mode: 'image-to-video', image_url: pictureUrl(picture) } as const;
    return { key: `key-${i}`, request };
  });
}

/** Sends its orders, some of them again and again, and asks what became of them. */
export async function beClient(world: World, thread: Thread, orders: Order[]): Promise<void> {
  const { random, scheduler } = world;
  const own = processOn(world, thread, scheduler.newLife());
  const errands = orders.length * 3;
  for (let i = 0; i < errands; i += 1) {
    await own.sleep(random.between(0, random.pick([0.5, 4, 15])));
    const order = orders[i] ?? random.pick(orders);
    const taskId = world.tellings.taskOf(thread.name, order.key);
    const asks = taskId !== undefined && random.chance(0.4);
    const telling = asks
      ? await serve(world, thread, (api) => readStatus(api, taskId, order.key))
      : await serve(world, thread, (api) => post(world, api, order));
    if (telling) {
      world.trace.note(thread.name, `told ${wordsOf(world, telling)}`);
      world.tellings.add({ client: thread.name, ...telling });
    }
  }
  scheduler.end(own.life);
}

function wordsOf({ trace }: World, telling: Told): string {
  const status = telling.kind === 'bound' ? telling.status : '';
  const task = 'taskId' in telling ? trace.nameOf(telling.taskId) : '';
  return [telling.key, telling.kind, task, status].filter((word) => word !== '').join(' ');
}

type Told = Telling extends infer One ? (One extends Telling ? Omit<One, 'client'> : never) : never;

/** One request to an API process of its own; undefined when that died, or its answer got lost. */
async function serve(
  world: World,
  thread: Thread,
  handle: (api: Api) => Promise<Told>,
): Promise<Told | undefined> {
  const api = processOn(world, thread, world.scheduler.newLife());
  const told = await within(api.life, () => handle(api));
  world.scheduler.end(api.life);
  return world.season === 'stormy' && world.random.chance(0.1) ? undefined : told;
}

async function readStatus(api: Api, taskId: string, key: string): Promise<Told> {
  const tasks = await readTasks(api.db, [taskId]).catch(() => undefined);
  if (tasks === undefined) return { key, kind: 'busy' };
  const [task] = tasks;
  if (!task) throw new Error(`${taskId} was told and is gone`);
  const { status } = videoTask(publicColumns(task), LINKS);
  // A task that failed unannounced may have left its key; then this is no promise about the key.
  return status === 'failed'
    ? { key, kind: 'refunded', taskId }
    : { key, kind: 'bound', taskId, status };
}

/** POST /api/v1/video/generations, from its key on. */
async function post(world: World, api: Api, { key, request }: Order): Promise<Told> {
  const { createWaitSeconds } = world.setting;
  const deps = {
    ...{ db: api.db, queue: LOST_WAKE_UPS, log: quiet, createWaitSeconds },
    providerName: world.cloud.personality.name,
  };
  const binding = bindingFor(world.accountId, key, request.prompt);
  try {
    const { kind, task } = await createTask(deps, binding, request, PRICE);
    if (kind === 'replayed') return boundTo(key, task);
    return boundTo(key, await awaitResponse({ ...deps, waiting: waitingOf(world, api) }, task));
  } catch (error) {
    if (error instanceof ApiError) return refusalOf(key, error);
    throw error;
  }
}

function boundTo(key: string, task: Task): Told {
  const { status } = videoTask(publicColumns(task), LINKS);
  return { key, kind: 'bound', taskId: task.id, status };
}

function refusalOf(key: string, { code, details }: ApiError): Told {
  if (code === 'insufficient_credits') return { key, kind: 'no_credits' };
  const taskId = details?.credits === undefined ? undefined : details.task_id;
  if (typeof taskId !== 'string') return { key, kind: 'busy' };
  if (code === 'invalid_request') return { key, kind: 'bound', taskId, status: 'failed' };
  return details?.credits === 'held'
    ? { key, kind: 'bound', taskId, status: 'held' }
    : { key, kind: 'refunded', taskId };
}

/** As tasks/create/waiting.ts waits, on the simulation's clock. */
function waitingOf({ random }: World, api: Api): Waiting {
  return {
    async outcome(taskId, seconds) {
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
    stop() {},
  };
}
