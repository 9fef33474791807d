import { type Candidate, pickJob } from '../kit/listed-jobs.ts';
import { requestFields } from '../kit/request-fields.ts';
import type { FindJobInput, FindOutcome } from '../provider.ts';
import type { ArkJob } from './job.ts';
import { ARK_FIELDS, type ArkModels } from './request.ts';
import type { Scan } from './scan.ts';

/** Source: "List video generation tasks": it shows the tasks of the last 7 days. */
const LISTED_SECONDS = 7 * 86_400;

/**
 * How far Ark's clock may differ from the service's; `created_at` is rounded down to whole seconds.
 */
const CLOCK_SKEW_SECONDS = 5;

/** The prefix of attempt ids (`kernel/ids.ts`), which mark tasks. */
const MARK = /^att_/;

export interface ArkFindDeps {
  models: ArkModels;
  /** Whether submits send the attempt id as `safety_identifier`. */
  isMarking: boolean;
  scan: Scan;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Finds an attempt's job in the list of tasks: by its mark, or by its likeness. Absence is weak:
 * Ark does not promise how soon the list shows a task.
 * @throws what the scan throws
 */
export async function findArkJob(deps: ArkFindDeps, attempt: FindJobInput): Promise<FindOutcome> {
  const ageSeconds = (deps.now() - attempt.sentBetween.from) / 1000;
  if (ageSeconds > LISTED_SECONDS) return { kind: 'absent', proof: 'weak' };
  const model = deps.models[attempt.jobSpec.model];
  const seen = collectCandidates(attempt, model);
  const { isWhole } = await deps.scan(isEndpoint(model) ? model : null, seen.look);
  return pickJob(seen.candidates({ isMarking: deps.isMarking, isWhole }), attempt);
}

/** Collects, task by task, the candidates for the attempt's job. */
function collectCandidates(attempt: FindJobInput, model: string) {
  const { attemptId } = attempt.jobSpec;
  const marked: Candidate[] = [];
  const alike: Candidate[] = [];
  let showsMarks = false;
  return {
    look(job: ArkJob): void {
      const mark = job.safety_identifier;
      showsMarks ||= mark ? MARK.test(mark) : false;
      if (mark === attemptId) marked.push({ jobId: job.id, by: 'mark' });
      else if (!mark && isLike(job, attempt, model)) alike.push({ jobId: job.id, by: 'likeness' });
    },
    /**
     * An attempt may have no mark: marking is off, or was off at its submit, or a gateway in front
     * of Ark does not echo it. But if marks are sent and the list shows any, an unmarked task is
     * not one of this service. And a list that was not read to its end may hold the mark, or a
     * second similar task. So likeness counts in neither case.
     */
    candidates(list: { isMarking: boolean; isWhole: boolean }): Candidate[] {
      const canBeUnmarked = list.isWhole && !(list.isMarking && showsMarks);
      return canBeUnmarked ? [...marked, ...alike] : marked;
    },
  };
}

function isEndpoint(model: string): boolean {
  return model.startsWith('ep-');
}

/** Whether the job could be the attempt's, by everything that Ark echoes. */
function isLike(job: ArkJob, attempt: FindJobInput, model: string): boolean {
  const shown: Partial<Record<string, unknown>> = { ...job };
  const sent = requestFields(ARK_FIELDS, attempt.jobSpec);
  const isSame = Object.entries(sent).every(([name, value]) => (shown[name] ?? value) === value);
  // Tasks of an endpoint may name a model.
  const isSameModel = isEndpoint(model) || (job.model ?? model) === model;
  return isSame && isSameModel && isInTime(job, attempt);
}

function isInTime(job: ArkJob, { sentBetween: { from, to } }: FindJobInput): boolean {
  const seconds = job.created_at ?? Number.NaN;
  return (
    seconds >= Math.floor(from / 1000) - CLOCK_SKEW_SECONDS &&
    seconds <= Math.ceil(to / 1000) + CLOCK_SKEW_SECONDS
  );
}
