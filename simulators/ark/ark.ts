import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Value } from 'typebox/value';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, PASSING_FAULTS, quirk, SUBMIT_FAULTS } from '../kit/faults.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import { createOutputs, type Outputs } from '../kit/outputs.ts';
import { type JobRecord, openRecord } from '../kit/record.ts';
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

const TASKS = /^\/api\/v3\/contents\/generations\/tasks$/;
const TASK = /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/;
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

interface Ark {
  options: SimulatorOptions;
  record: JobRecord<ArkTask>;
  outputs: Outputs;
  reporter: Reporter;
}

/**
 * Ark's video generation tasks, as its API reference documents them for the 2.0 series: create,
 * get, list, delete, callbacks on every change of status except cancelled, links that expire.
 */
export function simulateArk(options: SimulatorOptions): Simulation<ArkTask> {
  const record = openRecord(options.record, parseTask);
  const outputs = createOutputs(`${options.record}.outputs`, options.outputFile);
  const reporter = createReporter({
    record,
    word: (task) => wordOf(task, options.jobSeconds),
    show: (task, status) => shown({ options, outputs }, task, status),
  });
  reporter.start();
  const ark: Ark = { options, record, outputs, reporter };
  return { record, parse: parseTask, calls: callsOf(ark), refuse, drawn: DRAWN };
}

function callsOf(ark: Ark): SimulatedCall[] {
  const withTask = (work: (ark: Ark, task: ArkTask) => SimulatedResponse) => {
    return ({ groups: [id = ''] }: SimulatedRequest) => {
      const task = ark.record.get(id);
      return task && isKnown(task) ? work(ark, task) : refuse({ code: 'NotFound.task' });
    };
  };
  const calls: SimulatedCall[] = [
    { name: 'submit', method: 'POST', path: TASKS, work: (request) => create(ark, request) },
    { name: 'find', method: 'GET', path: TASKS, work: (request) => list(ark, request) },
    { name: 'read', method: 'GET', path: TASK, work: withTask(read) },
    { name: 'cancel', method: 'DELETE', path: TASK, work: withTask(remove) },
  ];
  const output: SimulatedCall = {
    name: 'output',
    method: 'GET',
    path: /^\/outputs\/([\w-]+)\.mp4$/,
    async work({ url, groups: [id = ''] }) {
      const task = ark.record.get(id);
      if (!task) return refuse({ status: 404 });
      return ark.outputs.serve(id, url.searchParams, task.quirks, outputSpecOf(task));
    },
  };
  return [...calls.map(withKey), output];
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

function shown(
  { options, outputs }: Pick<Ark, 'options' | 'outputs'>,
  task: ArkTask,
  status = wordOf(task, options.jobSeconds),
) {
  const lifeSeconds = options.jobSeconds + options.outputSeconds;
  const path = outputs.pathOf(task.id, task.createdAt + lifeSeconds * 1000);
  return shownTask(task, status, path);
}

/** Accepts any key, but requires one. */
function withKey(call: SimulatedCall): SimulatedCall {
  const isGiven = (headers: IncomingHttpHeaders) =>
    /^Bearer \S+$/.test(headers.authorization ?? '');
  return {
    ...call,
    work: (request) => (isGiven(request.headers) ? call.work(request) : refuse({ status: 401 })),
  };
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
