import type { GuardedPost } from '../outbound/guarded-fetch.ts';
import type { Task } from '../tasks/task.ts';
import type { Judgement } from './verdicts.ts';

/** A task to moderate. The links to its files work for minutes only. */
export interface Question {
  task: Pick<Task, 'id' | 'account_id' | 'request' | 'now_seconds'>;
  accountAgeDays: number;
  inputs: { field: string; media_type: string; url: string }[];
}

/** The service responded without a verdict; the message says how. */
export class NoVerdict extends Error {
  override name = 'NoVerdict';
  /** Whether it refused this question only, for example its picture. */
  readonly refusesQuestion: boolean;

  constructor(message: string, refusesQuestion = false) {
    super(message);
    this.refusesQuestion = refusesQuestion;
  }
}

/** HTTP statuses that refuse this question only. */
const QUESTION_STATUSES = [400, 413, 415, 422];

/** @throws NoVerdict; OutboundError when no response came */
export type Ask = (question: Question) => Promise<Judgement>;

/** The service that moderates, as an operator configured it. */
export interface ModerationService {
  /**
   * `webhook`: a POST by Standard Webhooks. `moderations`: the API `/v1/moderations` of several
   * vendors and model servers.
   */
  kind: 'webhook' | 'moderations';
  url: string;
  /** The secret that signs the POST, or the API key of `/v1/moderations`. */
  secret: string | undefined;
  /** Sent to `/v1/moderations`; undefined: the service's default. */
  model: string | undefined;
  /** Whether `/v1/moderations` gets pictures too. */
  sendsImages: boolean;
  timeoutSeconds: number;
}

export interface AskDeps {
  outbound: GuardedPost;
  service: ModerationService;
}

/** Longer responses are cut off, which makes them invalid JSON. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** The JSON of the response to one POST. @throws NoVerdict when there is none; OutboundError */
export async function postJson(
  { outbound, service }: AskDeps,
  { task }: Question,
  { headers, body }: { headers: Record<string, string>; body: string },
): Promise<unknown> {
  const { status, start } = await outbound.post(service.url, {
    customer: { accountId: task.account_id, taskId: task.id },
    headers: { 'content-type': 'application/json', ...headers },
    body,
    deadlineSeconds: service.timeoutSeconds,
    keptBytes: MAX_RESPONSE_BYTES,
  });
  if (status < 200 || status > 299) {
    throw new NoVerdict(`HTTP ${status}`, QUESTION_STATUSES.includes(status));
  }
  try {
    return JSON.parse(start);
  } catch {
    throw new NoVerdict(`its response is not JSON of at most ${MAX_RESPONSE_BYTES} bytes`);
  }
}
