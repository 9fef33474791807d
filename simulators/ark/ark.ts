import { randomBytes } from 'node:crypto';
import { Value } from 'typebox/value';
import { createReporter } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { call, guarded, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { isListed } from '../kit/stage.ts';
import { refuse } from './errors.ts';
import {
  type ArkTask,
  type CreateBody,
  CreateSchema,
  isKnown,
  outputSpecOf,
  parseTask,
  shownTask,
  wordOf,
} from './task.ts';

/** Tasks created with this key are shown without `safety_identifier`, as behind some gateways. */
export const KEY_WITHOUT_MARKS = 'without-marks';

const TASKS = '/api/v3/contents/generations/tasks';
const MODELS = /^(doubao|dreamina)-seedance-2-0-(fast-260128|mini-260615|260128)$|^ep-/;
const HAS_ENDED = new Set(['succeeded', 'failed', 'expired']);

/** Source: Ark's page about creating a task: 5 s to acknowledge, then up to 3 retries. */
const CALLBACK_RULES = { timeoutSeconds: 5, retries: 3, retrySeconds: 1 };
/** No callback reports `cancelled`. */
const ENDS = new Set([...HAS_ENDED, 'cancelled']);

interface Ark extends Jobs<ArkTask> {
  reporter: ReturnType<typeof createReporter<ArkTask>>;
}

/**
 * Ark's video generation tasks, as its API reference documents them for the 2.0 series: create,
 * get, list, delete, callbacks on every change of status except cancelled, links that expire.
 */
export function simulateArk(options: SimulatorOptions): Simulation<ArkTask> {
  const jobs = openJobs(options, parseTask);
  const deliveryOf = (task: ArkTask, status: string) => {
    if (status === 'cancelled') return undefined;
    return { body: JSON.stringify(shown(jobs, task, status)), headers: {} };
  };
  const reporter = createReporter(jobs.record, options.jobSeconds, {
    rules: CALLBACK_RULES,
    ends: ENDS,
    wordOf: (task) => wordOf(task, options.jobSeconds),
    deliveryOf,
    forgedOf({ id, model }) {
      const content = { video_url: 'http://127.0.0.1:9/forged.mp4' };
      const body = { id: `${id}-forged`, model, status: 'succeeded', content };
      return { body: JSON.stringify(body), headers: {} };
    },
  });
  return { ...jobs, calls: callsOf({ ...jobs, reporter }), refuse };
}

function callsOf(ark: Ark): SimulatedCall[] {
  const withTask = (work: (ark: Ark, task: ArkTask) => SimulatedResponse) => {
    return ({ groups: [id = ''] }: SimulatedRequest) => {
      const task = ark.record.get(id);
      return task && isKnown(task) ? work(ark, task) : refuse({ code: 'NotFound.task' });
    };
  };
  const calls = [
    call('submit', 'POST', TASKS, (request) => create(ark, request)),
    call('find', 'GET', TASKS, (request) => list(ark, request)),
    call('read', 'GET', `${TASKS}/([^/]+)`, withTask(read)),
    call('cancel', 'DELETE', `${TASKS}/([^/]+)`, withTask(remove)),
  ];
  return [
    ...guarded(calls, /^Bearer \S+$/, () => refuse({ status: 401 })),
    ark.outputCall(outputSpecOf, () => refuse({ status: 404 })),
  ];
}

async function create(ark: Ark, request: SimulatedRequest): Promise<SimulatedResponse> {
  const body = readBody(request.body);
  if (!body) return refuse({ code: 'InvalidParameter' });
  if (!MODELS.test(body.model)) return refuse({ code: 'InvalidEndpointOrModel.NotFound' });
  const { content, callback_url, safety_identifier, watermark: _, ...sent } = body;
  const texts = content.map((item) => (item.type === 'text' ? item.text : ''));
  const task: ArkTask = {
    ...ark.common(request),
    ...sent,
    id: `cgt-${new Date().toISOString().replace(/\D/g, '')}-${randomBytes(4).toString('hex')}`,
    content,
    prompt: texts.join(''),
    callbackUrl: callback_url ?? null,
    safetyIdentifier: safety_identifier ?? null,
    showsMark: request.headers.authorization !== `Bearer ${KEY_WITHOUT_MARKS}`,
    isDeleted: false,
  };
  ark.record.put(task);
  await ark.reporter.begin(task, 'queued');
  return { status: 200, json: { id: task.id } };
}

function list(ark: Ark, { url }: SimulatedRequest): SimulatedResponse {
  const asked = (name: string) => url.searchParams.getAll(name);
  const models = asked('filter.model');
  const rows = ark.record
    .all()
    .filter((task) => isKnown(task) && isListed(task))
    .filter(({ model }) => models.length === 0 || models.includes(model));
  const [page, size] = [Number(asked('page_num')[0] ?? 1), Number(asked('page_size')[0] ?? 20)];
  if (!(page >= 1 && page <= 500 && size >= 1 && size <= 500)) return refuse({ status: 400 });
  const items = rows.slice((page - 1) * size, page * size).map((task) => shown(ark, task));
  return { status: 200, json: { items, total: rows.length } };
}

function read(ark: Ark, task: ArkTask): SimulatedResponse {
  return { status: 200, json: shown(ark, task) };
}

/** Cancels a queued task; deletes the record of a task that has ended. */
function remove({ record, options }: Ark, task: ArkTask): SimulatedResponse {
  const status = wordOf(task, options.jobSeconds);
  if (status === 'queued') record.put({ ...task, forcedStatus: 'cancelled' });
  else if (HAS_ENDED.has(status)) record.put({ ...task, isDeleted: true });
  else return refuse({ code: 'InvalidAction', status: 409 });
  return { status: 200, json: {} };
}

function shown(jobs: Jobs<ArkTask>, task: ArkTask, status = wordOf(task, jobs.options.jobSeconds)) {
  return shownTask(task, status, jobs.linkTo(task));
}

function readBody(bytes: Buffer): CreateBody | undefined {
  try {
    const body: unknown = JSON.parse(bytes.toString());
    return Value.Check(CreateSchema, body) ? body : undefined;
  } catch {
    return undefined;
  }
}
