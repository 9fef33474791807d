// The room moderation/: whether a request may be submitted. A word list and the operator's own
// service judge it once; what either one doubts waits for an operator's review (decisions/0067).

import { readAccount } from '../accounts/accounts.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { visibleText } from '../kernel/text/visible-text.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import type { GuardedPost } from '../outbound/guarded-fetch.ts';
import { OutboundError } from '../outbound/refusal.ts';
import type { ProviderBreaker } from '../providers/circuit-breaker/breaker.ts';
import type { SubmitOutcome } from '../providers/provider.ts';
import type { Links } from '../storage/links.ts';
import { awaitProvider } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';
import { moveNow, type StepResult } from '../tasks/transitions.ts';
import { report } from '../telemetry/reports.ts';
import { type Ask, type ModerationService, NoVerdict, type Question } from './ask.ts';
import { askModerations } from './moderations-api.ts';
import { DENIED, refusal } from './review.ts';
import { type Judgement, keepVerdict, readVerdict, type Verdict } from './verdicts.ts';
import { askWebhook } from './webhook.ts';
import { judgeWords, type WordList } from './word-list.ts';

export interface ModerationChecks {
  /** Checked first; undefined: none. */
  words: WordList | undefined;
  service: ModerationService | undefined;
  /** `open`: tasks go on while the service can't be asked. `closed`: they wait. */
  onFailure: 'open' | 'closed';
}

export interface ModerationDeps {
  db: Database;
  log: Log;
  outbound: GuardedPost;
  links: Pick<Links, 'briefLinkTo'>;
  breaker: Pick<ProviderBreaker, 'enter' | 'observe'>;
  reviewSeconds: number;
  submitRetrySeconds: number;
}

/** The circuit breaker's name for the moderating service. No connection can have this name. */
const MODERATION = 'moderation_service';

const ASKS = { webhook: askWebhook, moderations: askModerations };

export type Moderation = ReturnType<typeof createModeration>;

/** @returns undefined if nothing checks requests */
export function createModeration(checks: ModerationChecks, deps: ModerationDeps) {
  const { words, service } = checks;
  if (!words && !service) return undefined;
  const ask = service && ASKS[service.kind]({ outbound: deps.outbound, service });
  return {
    /**
     * Decides once whether a task may be submitted. A denied task fails and is refunded, a doubtful
     * one waits for an operator's review. Tasks of test keys always pass.
     */
    async admit(task: Task): Promise<StepResult | 'admitted'> {
      if (task.surface === TEST_SURFACE) return 'admitted';
      const known = task.is_unattempted ? undefined : await readVerdict(deps.db, task.id);
      const judged = known ?? (await judge(deps, { ...checks, ask }, task));
      if ('seconds' in judged) {
        const { submitRetrySeconds } = deps;
        const blocked = { ...judged, submitRetrySeconds, what: 'moderation' } as const;
        return deps.db.transaction((tx) => awaitProvider(tx, task, blocked));
      }
      return applyVerdict(deps, task, known ?? (await recordVerdict(deps.db, task, judged)));
    },
  };
}

async function recordVerdict(db: Database, task: Task, given: Verdict): Promise<Verdict> {
  const kept = await keepVerdict(db, task.id, given);
  report('verdict', { verdict: kept.verdict, source: kept.source });
  return kept;
}

async function applyVerdict(
  { db, reviewSeconds }: ModerationDeps,
  task: Task,
  { verdict, source, reason }: Verdict,
): Promise<StepResult | 'admitted'> {
  switch (verdict) {
    case 'allow':
      return 'admitted';
    case 'deny': {
      const given = source === 'service' && reason ? publicReason(reason) : '';
      const why = given && ` Reason: ${given}.`;
      return moveNow(db, task, refusal({ source, reason }, `${DENIED}${why}`));
    }
    case 'review': {
      const cause = { moderation: { source, reason } };
      await moveNow(db, task, { to: 'review', cause, delaySeconds: reviewSeconds });
      return 'postponed';
    }
  }
}

const MAX_REASON = 200;

/** The reason that the operator's own service gives, as the customer reads it. */
function publicReason(reason: string): string {
  return visibleText(reason.slice(0, MAX_REASON)).replace(/[.\s]+$/, '');
}

/** The moderating service can't be asked now. */
type Closed = { by: 'operator' | 'outage'; seconds: number };

/** How long a task waits after a failure that has not closed the service yet. */
const RETRY_SECONDS = 2;

async function judge(
  deps: ModerationDeps,
  { words, ask, onFailure }: ModerationChecks & { ask: Ask | undefined },
  task: Task,
): Promise<Verdict | Closed> {
  const byWords = words && judgeWords(words, task.request.prompt);
  const judged = byWords && verdictOf(byWords, 'words');
  if (!ask || judged?.verdict === 'deny') return judged ?? verdictOf({ verdict: 'allow' }, 'words');
  const answer = await askOnce(deps, ask, task);
  if (!('seconds' in answer)) {
    return answer.verdict === 'allow' && judged ? judged : verdictOf(answer, 'service');
  }
  if (onFailure === 'closed') return answer;
  return judged?.verdict === 'review' ? judged : verdictOf({ verdict: 'allow' }, 'failure');
}

function verdictOf(judged: Judgement, source: Verdict['source']): Verdict {
  return { reason: null, ...judged, source };
}

/** Asks unless the service is closed after failures, like a provider (decisions/0016). */
async function askOnce(deps: ModerationDeps, ask: Ask, task: Task): Promise<Judgement | Closed> {
  const entry = await deps.breaker.enter(MODERATION);
  if (entry.kind === 'refused') return entry;
  try {
    return await answerTo(deps, ask, await questionOf(deps, task));
  } finally {
    await entry.end();
  }
}

/** Throws errors that are not the service's, such as the database's: they can't close it. */
async function answerTo(
  { breaker, log }: ModerationDeps,
  ask: Ask,
  question: Question,
): Promise<Judgement | Closed> {
  const { id: task } = question.task;
  // The breaker learns from outcomes of submits, so a verdict counts as an accepted one.
  const observe = (outcome: SubmitOutcome) => breaker.observe(MODERATION, outcome, false);
  const success: SubmitOutcome = { kind: 'accepted', jobId: task };
  try {
    const answer = await ask(question);
    await observe(success);
    return answer;
  } catch (error) {
    if (!(error instanceof NoVerdict || error instanceof OutboundError)) throw error;
    const { message: cause } = error;
    log.warn({ task, cause }, 'a task could not be moderated');
    // A refused question counts as a success, or one customer could close the service for all.
    const isQuestionRefused = error instanceof NoVerdict && error.refusesQuestion;
    await observe(isQuestionRefused ? success : { kind: 'not_sent', cause });
    return { by: 'outage', seconds: RETRY_SECONDS };
  }
}

const DAY_SECONDS = 86_400;

async function questionOf(
  { db, links }: Pick<ModerationDeps, 'db' | 'links'>,
  task: Task,
): Promise<Question> {
  const account = await readAccount(db, task.account_id);
  const ageSeconds = task.now_seconds - (account?.created_at.getTime() ?? 0) / 1000;
  return {
    task,
    accountAgeDays: Math.max(0, Math.floor(ageSeconds / DAY_SECONDS)),
    inputs: task.inputs.map(({ field, objectId, mediaType }) => ({
      field,
      media_type: mediaType,
      url: links.briefLinkTo(objectId, task.now_seconds, mediaType),
    })),
  };
}
