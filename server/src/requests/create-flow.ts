// The room requests/: what the public API and the website share: a create from headers to response,
// bodies, errors, and the JSON of a task.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { windowFullError } from '../accounts/key-gate.ts';
import type { CatalogDeps } from '../catalog/catalog.ts';
import type { Price } from '../catalog/price.ts';
import { checkRequest, type GenerationRequest, withUploads } from '../catalog/request.ts';
import { testOutcomeOf } from '../catalog/test-outcomes.ts';
import type { Queryable } from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { insufficientCredits } from '../ledger/reserve.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import type { CallerPause } from '../moderation/account-pause.ts';
import type { HostRules } from '../outbound/addresses.ts';
import {
  type Availability,
  allowNextCreate,
  isTrialDue,
  PAUSED_SECONDS,
  readAvailability,
  secondsUntilTrial,
  tryCreate,
} from '../providers/circuit-breaker/outages.ts';
import { TEST_PROVIDER } from '../providers/test-provider.ts';
import type { Chosen } from '../routing/route.ts';
import type { Routing } from '../routing/routing.ts';
import { DiskFull, type FreeSpace } from '../storage/free-space.ts';
import type { CreateDeps, Created } from '../tasks/create/create.ts';
import { type BoundKey, replay } from '../tasks/create/idempotency-keys.ts';
import {
  type Binding,
  type CheckedRequest,
  expectedOutputBytes,
} from '../tasks/create/new-task.ts';
import type { Task } from '../tasks/task.ts';
import { report } from '../telemetry/reports.ts';
import { type ArrivalDeps, requireUploads } from '../uploads/uploads.ts';
import { fingerprintOf, type Json } from './bodies.ts';
import { inRequest, inSpanOf, spanOf } from './spans.ts';

export interface PricingDeps extends ArrivalDeps, CatalogDeps {
  clientHosts: HostRules;
  publicUrl(): string;
  routing: Pick<Routing, 'connectionsFor'>;
}

/**
 * Checks what the schema can't express, and prices the request. Reserves nothing.
 * @returns the price, the request with upload URLs replaced by ids, and the connections that can
 *   make it, in the order in which to try them
 * @throws ApiError `invalid_request` that names the field
 */
export async function priceRequest(
  deps: PricingDeps,
  caller: Pick<Binding, 'accountId' | 'surface'>,
  body: GenerationRequest,
): Promise<{ price: Price; request: GenerationRequest; connections: Chosen[] }> {
  const request = withUploads(body, deps.publicUrl());
  const catalog = deps.catalog.current();
  const rules = { hosts: deps.clientHosts, catalog, at: new Date(deps.now()) };
  const price = checkRequest(request, rules);
  const connections = connectionsFor(deps, caller, request);
  await requireUploads(deps, caller.accountId, request);
  return { price, request, connections };
}

/**
 * The connections that can make a request, in the order in which to try them.
 * @throws ApiError `invalid_request` if none can
 */
function connectionsFor(
  { routing }: PricingDeps,
  { surface }: Pick<Binding, 'surface'>,
  request: GenerationRequest,
): Chosen[] {
  if (surface === TEST_SURFACE) return [{ connection: TEST_PROVIDER }];
  const connections = routing.connectionsFor(request);
  if (connections.length > 0) return connections;
  const { model, mode, resolution, duration } = request;
  const message = `${model} is not available for this request now: another model, mode, resolution or duration may be.`;
  const details = { field: 'model', reason: 'not_offered', model, mode, resolution, duration };
  throw invalidRequest(message, details);
}

export interface CreateFlowDeps extends CreateDeps, PricingDeps {
  db: CreateDeps['db'];
  space: FreeSpace;
  /** The connection that PROVIDER names, whose availability is read with the admission. */
  providerName: string;
}

/** Where creates of the public API and of the website differ. */
export interface CreateSurface {
  /** @throws ApiError when the request may not create */
  callerOf(request: FastifyRequest): Pick<Binding, 'accountId' | 'surface' | 'apiKey'>;
  /** Looks up the Idempotency-Key, before the body is checked. */
  readKey(request: FastifyRequest, binding: Binding): Promise<BoundKey | undefined>;
  /** Whether the default connection (`defaultOf`) takes jobs, and whether the account is paused. */
  availabilityOf(request: FastifyRequest): Promise<Availability & CallerPause>;
  create(checked: CheckedRequest): Promise<Created>;
  /** Waits for the acceptance, if the surface does. */
  awaitAcceptance(request: FastifyRequest, task: Task): Promise<Task>;
  /** A task as the surface shows it. */
  view(task: Task): object | Promise<object>;
}

/** Reserves the credits and stores the task, unless all its connections are closed. */
async function store(
  deps: CreateFlowDeps,
  { create }: CreateSurface,
  availability: Availability & CallerPause,
  { connections, ...unrouted }: Omit<CheckedRequest, 'provider'> & { connections: Chosen[] },
): Promise<Created> {
  const { binding } = unrouted;
  throwSimulatedRefusal(unrouted);
  requireNoPause(availability);
  const availabilityAt = async (name: string) =>
    name === defaultOf(deps, binding) ? availability : readAvailability(deps.db, name);
  const open = await firstOpen(deps.db, connections, availabilityAt);
  const checked = { ...unrouted, provider: open.name, routeChoice: open.reason };
  const created = await createAt(deps.db, open, () =>
    createWithSpace(deps.space, checked, () => create(checked)),
  );
  if (created.kind === 'created' && binding.surface !== TEST_SURFACE) {
    report('credits', { movement: 'reserve', credits: checked.price.credits });
  }
  return created;
}

/**
 * Makes a route's hook, which runs before the body is checked, and its handler: in the order of C7.
 * The fingerprint covers the body as sent, before defaults are filled in.
 */
export function createFlow(deps: CreateFlowDeps, surface: CreateSurface) {
  const { db, log } = deps;
  const bindings = new WeakMap<FastifyRequest, Binding>();
  const preValidation = async (request: FastifyRequest, reply: FastifyReply) => {
    const binding = bindingOf(request, surface);
    bindings.set(request, binding);
    const known = await surface.readKey(request, binding);
    const task = known && (await replay(db, known, binding));
    if (!task) return;
    linkTask(request, log, { kind: 'replayed', task });
    return sendReplay(reply, await surface.view(task));
  };
  const handler = async (
    request: FastifyRequest<{ Body: GenerationRequest }>,
    reply: FastifyReply,
  ) => {
    const binding = bindings.get(request);
    if (!binding) throw new Error('the check of the Idempotency-Key did not run');
    const priced = await priceRequest(deps, binding, request.body);
    const availability = await surface.availabilityOf(request);
    const checked = { binding, ...priced };
    const created = await inSpanOf(request, 'create the task', () =>
      store(deps, surface, availability, checked),
    );
    linkTask(request, log, created);
    if (created.kind === 'replayed') return sendReplay(reply, await surface.view(created.task));
    const task = await surface.awaitAcceptance(request, created.task);
    return reply.code(202).send(await surface.view(task));
  };
  const mediaUrls = { hosts: deps.clientHosts, publicUrl: deps.publicUrl };
  return { preValidation, handler, config: { mediaUrls } };
}

function bindingOf(request: FastifyRequest, { callerOf }: CreateSurface): Binding {
  const caller = callerOf(request);
  return {
    ...caller,
    idempotencyKey: requireIdempotencyKey(request),
    fingerprint: fingerprintOf(request.body as Json),
    traceparent: spanOf(request)?.traceparent,
    requestId: request.id,
  };
}

/** Links the request with its task in the log and the trace. */
function linkTask(request: FastifyRequest, log: Log, { kind, task }: Created): void {
  spanOf(request)?.set({ 'task.id': task.id });
  inRequest(request, () => log.info({ request: request.id, task: task.id }, `${kind} a task`));
}

function sendReplay(reply: FastifyReply, view: object): FastifyReply {
  return reply.code(200).header('idempotent-replayed', 'true').send(view);
}

/** The connection whose availability the admission reads. */
function defaultOf({ providerName }: CreateFlowDeps, { surface }: Binding): string {
  return surface === TEST_SURFACE ? TEST_PROVIDER : providerName;
}

/** The Retry-After for the prompt word `test-rate-limited`. */
const WAIT_SECONDS = 2;

/** @throws ApiError `rate_limited`, `insufficient_credits` */
function throwSimulatedRefusal({
  binding,
  request,
  price,
}: Omit<CheckedRequest, 'provider'>): void {
  if (binding.surface !== TEST_SURFACE) return;
  const outcome = testOutcomeOf(request.prompt);
  if (outcome === 'rate-limited') throw windowFullError(WAIT_SECONDS);
  if (outcome === 'insufficient-credits') throw insufficientCredits(price.credits, 'test');
}

export function simulatesInsufficientCredits(
  surface: string,
  { prompt }: GenerationRequest,
): boolean {
  return surface === TEST_SURFACE && testOutcomeOf(prompt) === 'insufficient-credits';
}

/** @throws ApiError `service_busy`. Nothing is reserved, and the Idempotency-Key is not bound */
function requireNoPause({ account_paused_seconds: seconds }: CallerPause): void {
  if (seconds === null) return;
  const message =
    'New tasks of this account are paused, because many of its requests were refused for their ' +
    'content. Nothing was reserved. Ask the operator of this service.';
  throw new ApiError('service_busy', message, {
    details: { reason: 'account_paused' },
    retryAfterSeconds: Math.ceil(seconds),
  });
}

interface OpenConnection {
  name: string;
  /** Why the route chose it. */
  reason: string | undefined;
  /** Whether this create is the one that tries the connection after an outage. */
  isTrying: boolean;
}

/**
 * The first connection that takes jobs.
 * @throws ApiError `service_busy` with the soonest time to try again, if none does. Nothing is
 *   reserved, and the Idempotency-Key is not bound
 */
async function firstOpen(
  db: Queryable,
  connections: Chosen[],
  availabilityAt: (name: string) => Promise<Availability>,
): Promise<OpenConnection> {
  const waits: number[] = [];
  for (const { connection: name, reason } of connections) {
    const availability = await availabilityAt(name);
    if (availability.creates_paused) throw notTaken(PAUSED_SECONDS);
    const seconds = secondsUntilTrial(availability);
    if (seconds === 0) return { name, reason, isTrying: false };
    const mayTry = isTrialDue(availability) && (await tryCreate(db, name));
    if (mayTry) return { name, reason, isTrying: true };
    waits.push(Math.ceil(seconds));
  }
  throw notTaken(Math.min(...waits));
}

async function createAt<T>(
  db: Queryable,
  { name, isTrying }: OpenConnection,
  create: () => Promise<T>,
): Promise<T> {
  try {
    return await create();
  } catch (error) {
    // Usually no task was created, for example for lack of credits: let another create try at once.
    if (isTrying) await allowNextCreate(db, name).catch(() => {});
    throw error;
  }
}

/** The Retry-After while the disk has no room for another output. */
const FULL_SECONDS = 30;

/**
 * Creates only if the disk has room for the output: otherwise an accepted task could not end, while
 * its client waits and its credits stay reserved.
 * @throws ApiError `service_busy`, or an error of the create
 */
async function createWithSpace<T>(
  space: Pick<FreeSpace, 'withOutputSpace'>,
  { request, binding }: CheckedRequest,
  create: () => Promise<T>,
): Promise<T> {
  try {
    const bytes = expectedOutputBytes(request, binding.surface);
    return await space.withOutputSpace(bytes, create);
  } catch (error) {
    throw error instanceof DiskFull ? notTaken(FULL_SECONDS, error) : error;
  }
}

function notTaken(retryAfterSeconds: number, cause?: unknown): ApiError {
  const minutes = Math.ceil(retryAfterSeconds / 60);
  const seconds = `${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}`;
  const wait = retryAfterSeconds < 120 ? seconds : `${minutes} minutes`;
  const message = `New tasks aren't being accepted right now, and nothing was reserved. Try again in ${wait}.`;
  return new ApiError('service_busy', message, {
    details: { reason: 'not_taken' },
    retryAfterSeconds,
    cause,
  });
}

/** The format of an Idempotency-Key, for schemas. */
export const KEY_SHAPE = { minLength: 1, maxLength: 160, pattern: '^[a-zA-Z0-9._:-]+$' };
const KEY_PATTERN = new RegExp(KEY_SHAPE.pattern);

/** The Idempotency-Key of a request; undefined if it is missing or malformed. */
export function wellFormedKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const key = String(headers['idempotency-key'] ?? '');
  return key.length <= KEY_SHAPE.maxLength && KEY_PATTERN.test(key) ? key : undefined;
}

/** @throws ApiError `invalid_request` if it is missing or malformed */
function requireIdempotencyKey(request: FastifyRequest): string {
  const key = wellFormedKey(request);
  if (key !== undefined) return key;
  const message =
    `Send an Idempotency-Key of ${KEY_SHAPE.minLength} to ${KEY_SHAPE.maxLength} characters from ` +
    'a-z, A-Z, 0-9, ".", "_", ":", "-".';
  const reason = request.headers['idempotency-key'] ? 'malformed' : 'required';
  throw invalidRequest(message, { field: 'Idempotency-Key', reason });
}
