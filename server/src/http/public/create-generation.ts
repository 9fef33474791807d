import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KeyGate } from '../../accounts/key-gate.ts';
import {
  checkRequest,
  GenerationBodySchema,
  type GenerationRequest,
} from '../../catalog/request.ts';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { HostRules } from '../../outbound/addresses.ts';
import { CLOSURES_OF_CREATE } from '../../providers/host/outages.ts';
import type { FreeSpace } from '../../storage/free-space.ts';
import type { Links } from '../../storage/links.ts';
import type { Binding } from '../../tasks/create/checked-request.ts';
import {
  type CreateClosures,
  createUnlessClosed,
  createWithSpace,
} from '../../tasks/create/closed.ts';
import {
  type CreateDeps,
  type Created,
  KEY_OF_CALLER,
  type KnownKey,
  replay,
} from '../../tasks/create/create.ts';
import { openCreates } from '../../tasks/create/create-together.ts';
import { fingerprintOf, type Json } from '../../tasks/create/fingerprint.ts';
import { awaitResponse } from '../../tasks/create/response.ts';
import type { Waiting } from '../../tasks/create/waiting.ts';
import { publicColumns, type Task } from '../../tasks/task.ts';
import { report } from '../../telemetry/reports.ts';
import { inRequest, inSpanOf, spanOf } from '../request-spans.ts';
import { requireJsonType } from './body.ts';
import { callerOf, type Endpoint, fusedRead } from './endpoint.ts';
import { requireIdempotencyKey, wellFormedKey } from './idempotency-key.ts';
import { errorResponses, IdempotencyKeyHeader } from './schemas.ts';
import { VideoTaskSchema, videoTask } from './video-task.ts';

export interface CreateGenerationDeps extends CreateDeps {
  db: Database;
  gate: KeyGate;
  links: Links;
  waiting: Waiting;
  /** Which hosts the URLs of a request may name. */
  clientHosts: HostRules;
  space: FreeSpace;
}

/** The row of the Idempotency-Key. For a new key, all its columns are null. */
type KeyColumns = { [Column in keyof KnownKey]: KnownKey[Column] | null };

/** What the statement that admits a create reads. */
type CreateColumns = KeyColumns & CreateClosures;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by this route before the body gets its defaults: the fingerprint is of the sent body. */
    binding?: Binding;
  }
}

/** POST /video/generations: checks the request in the order of C7, creates the task and waits. */
export const createGeneration: Endpoint<CreateGenerationDeps> = {
  description: {
    method: 'POST',
    url: '/video/generations',
    schema: {
      operationId: 'createGeneration',
      summary: 'Create a video generation task',
      headers: IdempotencyKeyHeader,
      body: GenerationBodySchema,
      response: {
        202: { description: 'A new task was accepted.', ...VideoTaskSchema },
        200: { description: 'The task of an earlier identical request.', ...VideoTaskSchema },
        ...errorResponses(400, 401, 402, 409, 413, 429, 503),
      },
    },
  },
  serve(api, deps) {
    const { db, gate, links, log, clientHosts, providerName, space } = deps;
    const read = {
      columns: `${KEY_OF_CALLER.columns}, ${CLOSURES_OF_CREATE.columns}`,
      joins: `${KEY_OF_CALLER.joins} ${CLOSURES_OF_CREATE.joins}`,
      values: [providerName],
      argumentOf: wellFormedKeyOf,
    };
    const { admit, rowOf } = fusedRead<CreateColumns>(gate, 'admit_create', read);
    const create = openCreates(deps);
    api.decorateRequest('binding');
    api.route<{ Body: GenerationRequest }>({
      ...createGeneration.description,
      config: { admit },
      preValidation: async (request, reply) => {
        request.binding = bindingOf(request);
        const { fingerprint, task_id } = rowOf(request);
        if (fingerprint === null) return;
        const task = await replay(db, { fingerprint, task_id }, request.binding.fingerprint);
        if (task) return sendReplay(reply, task, deps);
      },
      handler: async (request, reply) => {
        const { body, binding } = request;
        if (!binding) throw new Error('the check of the Idempotency-Key did not run');
        const price = checkRequest(body, clientHosts);
        const created = await inSpanOf(request, 'create the task', () =>
          createUnlessClosed(db, providerName, rowOf(request), () =>
            createWithSpace(space, body, () => create({ binding, request: body, price })),
          ),
        );
        if (created.kind === 'replayed') return sendReplay(reply, created.task, deps);
        report('credits', { movement: 'reserve', credits: price.credits });
        noteTask(request, created, log);
        const task = await inSpanOf(request, 'wait for the acceptance', () =>
          awaitResponse(deps, created.task),
        );
        return reply.code(202).send(videoTask(publicColumns(task), links));
      },
    });
  },
};

/** The key, or '' if it is malformed: {@link bindingOf} refuses it later, after the admission. */
function wellFormedKeyOf(request: Pick<FastifyRequest, 'headers'>): string {
  return wellFormedKey(request) ?? '';
}

/** @throws ApiError `invalid_request` for a bad content type, then for a bad Idempotency-Key */
function bindingOf(request: FastifyRequest): Binding {
  requireJsonType(request.headers['content-type']);
  const idempotencyKey = requireIdempotencyKey(request);
  const { accountId, surface, keyId, hasCap } = callerOf(request);
  const fingerprint = fingerprintOf(request.body as Json);
  const traceparent = spanOf(request)?.traceparent;
  const apiKey = { id: keyId, hasCap };
  const requestId = request.id;
  return { accountId, surface, idempotencyKey, fingerprint, apiKey, traceparent, requestId };
}

/** Joins the request with its task, for those who read the log or the trace. */
function noteTask(request: FastifyRequest, { kind, task }: Created, log: Log): void {
  spanOf(request)?.set({ 'task.id': task.id });
  inRequest(request, () => log.info({ request: request.id, task: task.id }, `${kind} a task`));
}

function sendReplay(
  reply: FastifyReply,
  task: Task,
  { links, log }: Pick<CreateGenerationDeps, 'links' | 'log'>,
): FastifyReply {
  noteTask(reply.request, { kind: 'replayed', task }, log);
  return reply
    .code(200)
    .header('idempotent-replayed', 'true')
    .send(videoTask(publicColumns(task), links));
}
