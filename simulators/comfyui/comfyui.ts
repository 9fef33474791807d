import path from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, quirk, retryAfter } from '../kit/faults.ts';
import { call as callOf, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { JobRecord } from '../kit/record.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { isListed } from '../kit/stage.ts';
import { type GraphError, readGraph, type Workload } from './graph.ts';
import { type ComfyuiJob, hasEnded, JobSchema, jobDetail, jobRow, wordOf } from './job.ts';
import { createTempFolder, type TempFolder } from './uploads.ts';

/** What the server loses at a restart. The record, and so every saved video, is kept. */
interface Memory {
  /** Record ids of the jobs accepted since the start, oldest first. */
  taken: string[];
  temp: TempFolder;
}

interface Server extends Jobs<ComfyuiJob> {
  memory: Memory;
}

/** A ComfyUI server. It forgets jobs and uploads when it restarts, like a real server. */
export function simulateComfyui(options: SimulatorOptions): Simulation<ComfyuiJob> {
  const jobs = openJobs(options, (value) => Value.Parse(JobSchema, value));
  const server: Server = { ...jobs, memory: { taken: [], temp: createTempFolder() } };
  return { ...jobs, calls: [...jobCalls(server), ...fileCalls(server)], refuse };
}

/** Every route exists with and without `/api`. */
function call(
  name: string,
  [method, route]: [string, string],
  work: SimulatedCall['work'],
): SimulatedCall {
  return callOf(name, method, `(?:/api)?${route}`, work);
}

function jobCalls(server: Server): SimulatedCall[] {
  return [
    call('submit', ['POST', '/prompt'], (request) => submit(server, request)),
    call('read', ['GET', '/api/jobs/([^/]+)'], ({ groups }) => detail(server, groups[0])),
    call('cancel', ['POST', '/api/jobs/([^/]+)/cancel'], ({ groups }) => cancel(server, groups[0])),
    call('find', ['GET', '/api/jobs'], ({ url }) => list(server, url.searchParams)),
  ];
}

function fileCalls(server: Server): SimulatedCall[] {
  const { temp } = server.memory;
  const view = async ({
    url: { searchParams: query },
  }: SimulatedRequest): Promise<SimulatedResponse> => {
    if (query.get('type') === 'temp') return file(temp.view(query));
    const job = server.record.all().find((one) => isFileOf(one, query));
    const isDeleted = !job || quirk(job, 'output_expired');
    if (isDeleted) return file(undefined);
    // The links to outputs expire, but files of a ComfyUI server do not.
    const link = new URL(server.outputs.pathOf(job.id, Number.MAX_SAFE_INTEGER), 'http://outputs');
    return server.outputs.serve(job.id, link.searchParams, job.quirks, job.outputSpec);
  };
  return [
    call('upload', ['POST', '/upload/image'], ({ body, headers }) =>
      temp.take(body, headers['content-type'] ?? ''),
    ),
    call('output', ['GET', '/view'], view),
    call('view', ['HEAD', '/view'], view),
  ];
}

function isFileOf(job: ComfyuiJob, query: URLSearchParams): boolean {
  return job.filename === query.get('filename') && job.subfolder === query.get('subfolder');
}

function file(bytes: Uint8Array | undefined): SimulatedResponse {
  return bytes ? { status: 200, bytes } : plain(404);
}

const BodySchema = Type.Object({
  prompt: Type.Optional(Type.Unknown()),
  prompt_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const CANONICAL_UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function submit(server: Server, request: SimulatedRequest): SimulatedResponse {
  const { prompt, prompt_id } = Value.Parse(BodySchema, JSON.parse(request.body.toString()));
  const promptId = prompt_id ?? crypto.randomUUID();
  if (prompt === undefined) return badRequest({ type: 'no_prompt', message: 'No prompt provided' });
  if (!CANONICAL_UUID.test(promptId)) {
    return badRequest({ type: 'invalid_prompt_id', message: 'prompt_id must be a valid UUID' });
  }
  const workload = readGraph(prompt, server.memory.temp.has);
  if ('type' in workload) return badRequest(workload);
  const { number } = take(server, request, { promptId, workload });
  return { status: 200, json: { prompt_id: promptId, number, node_errors: {} } };
}

/** Adds a job. ComfyUI does not deduplicate: an id that is posted again makes another job. */
function take(
  { record, memory, common }: Server,
  request: SimulatedRequest,
  { promptId, workload }: { promptId: string; workload: Workload },
): ComfyuiJob {
  const { filenamePrefix, ...rest } = workload;
  const same = record.all().filter((job) => job.promptId === promptId).length;
  const job: ComfyuiJob = {
    ...common(request),
    ...rest,
    ...fileOf(filenamePrefix, record),
    promptId,
    id: same === 0 ? promptId : `${promptId}#${same + 1}`,
    number: memory.taken.length,
    callbackUrl: null,
  };
  record.put(job);
  memory.taken.push(job.id);
  return job;
}

/** `folder/name` becomes `folder` and `name_00001_.mp4`, with the next free number. */
function fileOf(prefix: string, record: JobRecord<ComfyuiJob>) {
  const subfolder = path.dirname(prefix) === '.' ? '' : path.dirname(prefix);
  const name = path.basename(prefix);
  const isSame = (job: ComfyuiJob) =>
    job.subfolder === subfolder && job.filename.startsWith(`${name}_`);
  const count = record.all().filter(isSame).length + 1;
  return { subfolder, filename: `${name}_${String(count).padStart(5, '0')}_.mp4` };
}

/** The jobs that the server knows, with their statuses. */
function known({ record, memory, options }: Server): Array<{ job: ComfyuiJob; word: string }> {
  const jobs = memory.taken.map((id) => record.get(id)).filter((job) => job !== undefined);
  const shown = jobs.filter((job) => isListed(job));
  return shown.map((job) => ({ job, word: wordOf(job, options.jobSeconds) }));
}

function detail(server: Server, promptId: string | undefined): SimulatedResponse {
  const found = known(server).find(({ job }) => job.promptId === promptId);
  if (!found) return { status: 404, json: { error: 'Job not found' } };
  return { status: 200, json: jobDetail(found.job, found.word) };
}

/** A running job is interrupted and stays in the history; a waiting one leaves no trace. */
function cancel(server: Server, promptId: string | undefined): SimulatedResponse {
  const found = known(server).find(({ job }) => job.promptId === promptId);
  if (!found) return { status: 404, json: { error: 'Job not found' } };
  const { job, word } = found;
  const { memory, record } = server;
  if (!hasEnded(word)) record.put({ ...job, forcedStatus: 'cancelled' });
  if (word === 'pending') memory.taken.splice(memory.taken.indexOf(job.id), 1);
  return { status: 200, json: { cancelled: !hasEnded(word) } };
}

function list(server: Server, query: URLSearchParams): SimulatedResponse {
  const oldestFirst = known(server).toSorted((a, b) => a.job.createdAt - b.job.createdAt);
  const all = query.get('sort_order') === 'asc' ? oldestFirst : oldestFirst.toReversed();
  const offset = Number(query.get('offset') ?? 0);
  const page = all.slice(offset, offset + Number(query.get('limit') ?? all.length));
  const jobs = page.map(({ job, word }) => jobRow(job, word));
  const hasMore = offset + page.length < all.length;
  return { status: 200, json: { jobs, pagination: { total: all.length, has_more: hasMore } } };
}

function badRequest({ type, message, details = '', nodes = {} }: GraphError): SimulatedResponse {
  const error = { type, message, details, extra_info: {} };
  return { status: 400, json: { error, node_errors: nodes } };
}

/**
 * With a code, ComfyUI's own 400; with only a status, the response of its HTTP library or a proxy.
 */
function refuse(fault: Fault): SimulatedResponse {
  const { code, message = 'simulated', status = 400 } = fault;
  if (code !== undefined) return badRequest({ type: code, message });
  return plain(status, retryAfter(fault));
}

function plain(status: number, headers: Record<string, string> = {}): SimulatedResponse {
  const type = { 'content-type': 'text/plain; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, bytes: Buffer.from(`${status}: simulated`) };
}
