import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';

/** Faults of one HTTP exchange. `refuse` and the resets take no job; the others do their work. */
const EXCHANGE_FAULTS = [
  'reset_before_body', // the connection is reset before the request's body was read
  'reset_after_body', // read in full, nothing done, reset
  'refuse', // the provider's own error of `code`, with `status` and `retryAfterSeconds` if given
  'drop_after_accepting', // done, then the connection closes without an answer
  'error_after_accepting', // done, then answered with `status` (500)
  'unreadable', // done, then answered 200 with a body that is not JSON
  'slow_headers', // done, answered after `seconds` (an hour)
  'slow_body', // done, half the answer, the rest after `seconds` (an hour)
  'truncated_body', // done, half the answer, then the connection closes
  'oversize_answer', // done, the answer followed by 64 MB of white space
] as const;

/** Faults of a job: taken with it at its submit, and kept in its record. */
const JOB_FAULTS = [
  'list_lag', // missing from lists for `seconds`
  'status_word', // its status reads `word`
  'never_ends',
  'vanishes', // taken, but unknown to every read and list
  'fails', // ends as failed, with `code` and `message`
  'output_expired', // ends well, its link does not work any more
  'output_truncated',
  'output_wrong_type',
  'output_too_large', // 300 MB
  'output_short', // a second less than asked
  'callback_early', // the first one comes before the answer to the submit
  'callback_duplicate',
  'callback_late', // each one `seconds` late
  'callback_reordered', // the last one first
  'callback_forged', // each one follows a forged one
  'callback_missing',
] as const;

const KINDS = [...EXCHANGE_FAULTS, ...JOB_FAULTS];
type ExchangeKind = (typeof EXCHANGE_FAULTS)[number];

export const FaultSchema = Type.Object(
  {
    kind: Type.Enum(KINDS),
    seconds: Type.Optional(Type.Number()),
    status: Type.Optional(Type.Integer()),
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
    word: Type.Optional(Type.String()),
    retryAfterSeconds: Type.Optional(Type.Number()),
  },
  { additionalProperties: false },
);
export type Fault = Static<typeof FaultSchema>;
export type FaultKind = Fault['kind'];

/** Faults for the next request, or the next ones, that match. */
export const PlanSchema = Type.Object(
  {
    /** The call it is meant for: submit (when left out), read, find, output, ... or `any`. */
    on: Type.Optional(Type.String()),
    /** Text that the path with query or the body must hold, for example of a prompt. */
    match: Type.Optional(Type.String()),
    /** How many requests it serves; 1 when left out. */
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    faults: Type.Array(FaultSchema),
  },
  { additionalProperties: false },
);
export type Plan = Static<typeof PlanSchema>;

export function isExchangeFault(fault: Fault): fault is Fault & { kind: ExchangeKind } {
  return EXCHANGE_FAULTS.some((kind) => kind === fault.kind);
}

/** The fault of a kind among a job's quirks. */
export function quirk(job: { quirks: Fault[] }, kind: FaultKind): Fault | undefined {
  return job.quirks.find((fault) => fault.kind === kind);
}

export interface DrawOptions {
  /** Share of the requests that get a fault of their own, 0 to 1. */
  rate: number;
  seed: number;
  /** What to draw from, by call; a call that is not named gets none. */
  drawn: Record<string, Fault[]>;
}

export interface FaultSource {
  add(plan: Plan): void;
  clear(): void;
  pending(): Plan[];
  /** The faults of one request: of the oldest plan that matches, else drawn by seed and rate. */
  take(call: string, text: string): Fault[];
  /** Like `take` for a request whose body is unread: only plans that reset it there. */
  takeBeforeBody(call: string, path: string): Fault | undefined;
}

const resetsBeforeBody = (plan: Plan) =>
  plan.faults.some((fault) => fault.kind === 'reset_before_body');

export function createFaultSource(draw: DrawOptions): FaultSource {
  const plans: Plan[] = [];
  const lots = createLots(draw);
  const use = (plan: Plan) => {
    plan.times = (plan.times ?? 1) - 1;
    if (plan.times === 0) plans.splice(plans.indexOf(plan), 1);
    return plan.faults;
  };
  return {
    add: (plan) => plans.push({ ...plan }),
    clear: () => plans.splice(0),
    pending: () => plans,
    take(call, text) {
      const plan = plans.find((one) => !resetsBeforeBody(one) && isFor(one, call, text));
      return plan ? use(plan) : lots(call);
    },
    takeBeforeBody(call, path) {
      const plan = plans.find((one) => resetsBeforeBody(one) && isFor(one, call, path));
      return plan && use(plan).find((fault) => fault.kind === 'reset_before_body');
    },
  };
}

function isFor(plan: Plan, call: string, text: string): boolean {
  const on = plan.on ?? 'submit';
  return (on === 'any' || on === call) && text.includes(plan.match ?? '');
}

/** Draws for the first request of a call, the second, ...: the same ones for the same seed. */
function createLots({ rate, seed, drawn }: DrawOptions) {
  const asked = new Map<string, number>();
  return (call: string): Fault[] => {
    const choices = drawn[call] ?? [];
    const count = asked.get(call) ?? 0;
    asked.set(call, count + 1);
    const hash = createHash('sha256').update(`${seed} ${call} ${count}`).digest();
    const isSpared = hash.readUInt32BE(0) / 2 ** 32 >= rate;
    const fault = choices[hash.readUInt32BE(4) % choices.length];
    return isSpared || !fault ? [] : [fault];
  };
}

/** For reads, lists and the like: none of them says anything about the job. */
export const PASSING_FAULTS: Fault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'error_after_accepting', status: 500 },
  { kind: 'error_after_accepting', status: 503 },
  { kind: 'unreadable' },
  { kind: 'truncated_body' },
  { kind: 'slow_headers', seconds: 2 },
];

/** For submits, beside the provider's own refusals: none keeps a job from ending for ever. */
export const SUBMIT_FAULTS: Fault[] = [
  ...PASSING_FAULTS,
  { kind: 'slow_headers' },
  { kind: 'slow_body' },
  { kind: 'list_lag', seconds: 2 },
  { kind: 'callback_early' },
  { kind: 'callback_duplicate' },
  { kind: 'callback_late', seconds: 3 },
  { kind: 'callback_reordered' },
  { kind: 'callback_forged' },
  { kind: 'callback_missing' },
  { kind: 'status_word', word: 'warming_up', seconds: 1 },
];
