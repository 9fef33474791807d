import { randomBytes } from 'node:crypto';
import { Value } from 'typebox/value';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, PASSING_FAULTS, quirk, SUBMIT_FAULTS } from '../kit/faults.ts';
import { call, guarded, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { isListed } from '../kit/stage.ts';
import { refuse } from './errors.ts';
import { createReporter, type Reporter } from './reporter.ts';
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

const BUSY: Fault[] = [
  { kind: 'refuse', code: 'RateLimitExceeded.EndpointRPMExceeded' },
  { kind: 'refuse', code: 'ServerOverloaded', retryAfterSeconds: 1 },
];

/** Faults that may be drawn for each call. Wrong outputs and lost jobs come only from plans. */
const DRAWN: Record<string, Fault[]> = {
  submit: [
    ...SUBMIT_FAULTS,
    ...BUSY,
    { kind: 'refuse', code: 'InputTextSensitiveContentDetected' },
    { kind: 'fails', code: 'OutputVideoSensitiveContentDetected' },
    { kind: 'fails', code: 'InternalServiceError' },
  ],
  read: [...PASSING_FAULTS, ...BUSY],
  find: [...PASSING_FAULTS, ...BUSY],
  output: PASSING_FAULTS.filter((fault) => fault.kind !== 'unreadable'),
};

interface Ark extends Jobs<ArkTask> {
  reporter: Reporter;
}

/**
 * Ark's video generation tasks, as its API reference documents them for the 2.0 series: create,
 * get, list, delete, callbacks on every change of status except cancelled, links that expire.
 */
export function simulateArk(options: SimulatorOptions): Simulation<ArkTask> {
  const jobs = openJobs(options, parseTask);
  const { record } = jobs;
  const reporter = createReporter({
    record,
    word: (task) => wordOf(task, options.jobSeconds),
    show: (task, status) => shown(jobs, task, status),
  });
  reporter.start();
  return { record, parse: parseTask, calls: callsOf({ ...jobs, reporter }), refuse, drawn: DRAWN };
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

async function create(
  { record, reporter }: Ark,
  request: SimulatedRequest,
): Promise<SimulatedResponse> {
  const body = readBody(request.body);
  if (!body) return refuse({ code: 'InvalidParameter' });
  if (!MODELS.test(body.model)) return refuse({ code: 'InvalidEndpointOrModel.NotFound' });
  const task = newTask(body, request);
  record.put(task);
  if (quirk(task, 'callback_early')) await reporter.report(task);
  return { status: 200, json: { id: task.id } };
}

function list(ark: Ark, { url }: SimulatedRequest): SimulatedResponse {
  const asked = (name: string) => url.searchParams.getAll(name);
  const isAsked = (name: string, value: string) =>
    asked(name).length === 0 || asked(name).includes(value);
  const rows = ark.record
    .all()
    .filter((task) => isKnown(task) && isListed(task))
    .filter((task) => isAsked('filter.status', wordOf(task, ark.options.jobSeconds)))
    .filter((task) => isAsked('filter.model', task.model))
    .filter((task) => isAsked('filter.task_ids', task.id));
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
  return shownTask(task, status, jobs.pathTo(task));
}

function readBody(bytes: Buffer): CreateBody | undefined {
  try {
    const body: unknown = JSON.parse(bytes.toString());
    return Value.Check(CreateSchema, body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function newTask(body: CreateBody, { headers, quirks }: SimulatedRequest): ArkTask {
  const { model, content, resolution, ratio, duration, generate_audio } = body;
  const texts = content.map((item) => (item.type === 'text' ? item.text : ''));
  return {
    id: `cgt-${new Date().toISOString().replace(/\D/g, '')}-${randomBytes(4).toString('hex')}`,
    model,
    content,
    resolution,
    ratio,
    duration,
    generate_audio,
    quirks,
    prompt: texts.join(''),
    callbackUrl: body.callback_url ?? null,
    safetyIdentifier: body.safety_identifier ?? null,
    showsMark: headers.authorization !== `Bearer ${KEY_WITHOUT_MARKS}`,
    createdAt: Date.now(),
    forcedStatus: null,
    origin: `http://${headers.host}`,
    reported: null,
    isDeleted: false,
  };
}
