import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Admitted, openAdmission } from '../../accounts/admission.ts';
import {
  checkRequest,
  GenerationBodySchema,
  type GenerationRequest,
} from '../../catalog/request.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { AllowList } from '../../outbound/addresses.ts';
import type { Links } from '../../storage/links.ts';
import {
  type CreateDeps,
  createTask,
  KEY_OF_CALLER,
  type KnownKey,
  replay,
} from '../../tasks/create/create.ts';
import { fingerprintOf, type Json } from '../../tasks/create/fingerprint.ts';
import { awaitResponse } from '../../tasks/create/response.ts';
import type { Waiting } from '../../tasks/create/waiting.ts';
import { publicColumns, type Task, VideoTaskSchema, videoTask } from '../../tasks/task.ts';
import { requireJsonType } from './body.ts';
import { errorResponses, IdempotencyKeyHeader, SURFACE } from './schemas.ts';

export interface CreateRouteDeps extends CreateDeps {
  db: Database;
  links: Links;
  waiting: Waiting;
  allow: AllowList;
}

type KeyColumns = { fingerprint: Buffer | null; task_id: string | null };
type Caller = Admitted<KeyColumns>;

declare module 'fastify' {
  interface FastifyRequest {
    caller?: Caller;
    fingerprint?: Buffer;
  }
}

const KEY_SHAPE = /^[a-zA-Z0-9._:-]{1,160}$/;

/** POST /video/generations: the checks in the order of design decision 7, then create and wait. */
export function createGenerationRoute(app: FastifyInstance, deps: CreateRouteDeps): void {
  const { db, links } = deps;
  const admit = openAdmission<KeyColumns>(db, 'admit_create', KEY_OF_CALLER);
  app.decorateRequest('caller');
  app.decorateRequest('fingerprint');
  app.post<{ Body: GenerationRequest }>(
    '/video/generations',
    {
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
      onRequest: async (request) => {
        const key = keyOf(request);
        const argument = KEY_SHAPE.test(key) ? key : '';
        const { authorization } = request.headers;
        request.caller = await admit({ authorization, surface: SURFACE, argument });
      },
      preValidation: async (request, reply) => {
        const replayed = await replayKnownKey(db, request);
        if (replayed) return sendReplay(reply, replayed, links);
      },
    },
    async (request, reply) => {
      const { body } = request;
      const price = checkRequest(body, deps.allow);
      const created = await createTask(deps, bindingOf(request), body, price);
      if (created.kind === 'replayed') return sendReplay(reply, created.task, links);
      const task = await awaitResponse(deps, created.task);
      return reply.code(202).send(videoTask(publicColumns(task), links));
    },
  );
}

function keyOf(request: FastifyRequest): string {
  return String(request.headers['idempotency-key'] ?? '');
}

async function replayKnownKey(db: Database, request: FastifyRequest): Promise<Task | undefined> {
  requireJsonType(request.headers['content-type']);
  const key = keyOf(request);
  if (!KEY_SHAPE.test(key)) throw badKey(key);
  request.fingerprint = fingerprintOf(request.body as Json);
  const known = request.caller;
  if (!known?.fingerprint) return undefined;
  return replay(db, known as KnownKey, request.fingerprint);
}

function badKey(key: string): ApiError {
  const message =
    'Idempotency-Key must be 1 to 160 characters of a-z, A-Z, 0-9, ".", "_", ":", "-".';
  const reason = key === '' ? 'required' : 'malformed';
  return new ApiError('invalid_request', message, {
    details: { field: 'Idempotency-Key', reason },
  });
}

function bindingOf(request: FastifyRequest) {
  const { caller, fingerprint } = request;
  if (!caller || !fingerprint) throw new Error('the hooks of this route did not run');
  const { account_id: accountId } = caller;
  return { accountId, surface: SURFACE, idempotencyKey: keyOf(request), fingerprint };
}

function sendReplay(reply: FastifyReply, task: Task, links: Links): FastifyReply {
  return reply
    .code(200)
    .header('idempotent-replayed', 'true')
    .send(videoTask(publicColumns(task), links));
}
