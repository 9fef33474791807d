import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';

/** Faults of one HTTP exchange. `refuse` and the resets create no job; the others do the work. */
const EXCHANGE_FAULTS = [
  'reset_before_body', // the connection is reset before the body is read
  'reset_after_body', // the body is read, nothing is done, the connection is reset
  'refuse', // the provider's error for `code`, `status` and `retryAfterSeconds`
  'drop_after_accepting', // done, then the connection closes without a response
  'error_after_accepting', // done, then a response with `status` (500)
  'unreadable', // done, then a 200 whose body is not JSON
  'slow_headers', // done, the response comes after `seconds` (an hour)
  'slow_body', // done, half the response, the rest after `seconds` (an hour)
  'truncated_body', // done, half the response, then a close
  'duplicate', // done twice at once, the second response is sent
  'oversize_response', // done, the response followed by 64 MB of white space
] as const;

/** Faults of a job: they come with its submit and are stored in its record. */
const JOB_FAULTS = [
  'list_lag', // missing from lists for `seconds`
  'status_word', // its status is `word`
  'never_ends',
  'vanishes', // accepted, but missing from every read and list
  'fails', // ends as failed, with `code` and `message`
  'output_expired', // succeeds, but its link has expired
  'output_too_large', // 300 MB
  'callback_early', // the first one comes before the response to the submit
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
    retryAfterIsDate: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type Fault = Static<typeof FaultSchema>;
export type FaultKind = Fault['kind'];

/** Faults for the next matching requests. */
export const PlanSchema = Type.Object(
  {
    /** The call: submit (the default), read, find, output, ... or `any`. */
    on: Type.Optional(Type.String()),
    /** Text that the path, query or body must contain, for example a part of the prompt. */
    match: Type.Optional(Type.String()),
    /** How many requests it applies to; 1 by default. */
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

interface DrawOptions {
  /** Share of the requests that get a drawn fault, 0 to 1. */
  rate: number;
  seed: number;
  /** Faults to draw from, by call; a call that is missing here gets no faults. */
  drawn: Record<string, Fault[]>;
}

export type FaultSource = ReturnType<typeof createFaultSource>;

const resetsBeforeBody = (plan: Plan) =>
  plan.faults.some((fault) => fault.kind === 'reset_before_body');

/** @param draw the faults of requests without a plan; none if not given */
export function createFaultSource(draw: DrawOptions = { rate: 0, seed: 1, drawn: {} }) {
  const plans: Plan[] = [];
  const drawFor = createDraws(draw);
  const use = (plan: Plan) => {
    plan.times = (plan.times ?? 1) - 1;
    if (plan.times === 0) plans.splice(plans.indexOf(plan), 1);
    return plan.faults;
  };
  return {
    add: (plan: Plan) => plans.push({ ...plan }),
    clear: () => plans.splice(0),
    pending: () => plans,
    /** The faults of one request: those of the oldest matching plan, or else drawn ones. */
    take(call: string, text: string) {
      const plan = plans.find((one) => !resetsBeforeBody(one) && isFor(one, call, text));
      return plan ? use(plan) : drawFor(call);
    },
    /** Like `take`, before the body is read: only plans with `reset_before_body`. */
    takeBeforeBody(call: string, path: string) {
      const plan = plans.find((one) => resetsBeforeBody(one) && isFor(one, call, path));
      return plan && use(plan).find((fault) => fault.kind === 'reset_before_body');
    },
  };
}

function isFor(plan: Plan, call: string, text: string): boolean {
  const on = plan.on ?? 'submit';
  return (on === 'any' || on === call) && text.includes(plan.match ?? '');
}

/** Draws for the first request of a call, the second, ...: always the same for the same seed. */
function createDraws({ rate, seed, drawn }: DrawOptions) {
  const counts = new Map<string, number>();
  return (call: string): Fault[] => {
    const choices = drawn[call] ?? [];
    const count = counts.get(call) ?? 0;
    counts.set(call, count + 1);
    const hash = createHash('sha256').update(`${seed} ${call} ${count}`).digest();
    const isSpared = hash.readUInt32BE(0) / 2 ** 32 >= rate;
    const fault = choices[hash.readUInt32BE(4) % choices.length];
    return isSpared || !fault ? [] : [fault];
  };
}

/** The header of a refusal that names a wait. */
export function retryAfter({ retryAfterSeconds: seconds }: Omit<Fault, 'kind'>) {
  const headers: Record<string, string> =
    seconds === undefined ? {} : { 'retry-after': String(seconds) };
  return headers;
}
