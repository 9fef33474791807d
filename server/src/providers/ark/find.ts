import { type Candidate, pickJob } from '../kit/pick-job.ts';
import type { FindJobInput, FindOutcome } from '../provider.ts';
import type { ArkJob } from './job.ts';
import type { ArkModels } from './request.ts';
import type { Scan } from './scan.ts';

/** Source: "List video generation tasks": tasks of the last 7 days. */
const LISTED_SECONDS = 7 * 86_400;

/** How far Ark's clock may be from ours; `created_at` itself is cut to whole seconds. */
const CLOCK_SKEW_SECONDS = 5;

/** How the ids of attempts begin, with which tasks are marked (`kernel/ids.ts`). */
const MARK = /^att_/;

export interface Search {
  models: ArkModels;
  /** Whether attempts are sent with their id as `safety_identifier`. */
  isMarking: boolean;
  scan: Scan;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Looks for an attempt's job in the list of tasks: by its mark, or by its likeness. Absence is
 * weak: no lag of the list is promised.
 * @throws what the scan throws
 */
export async function findArkJob(search: Search, attempt: FindJobInput): Promise<FindOutcome> {
  const ageSeconds = (search.now() - attempt.sentBetween.from) / 1000;
  if (ageSeconds > LISTED_SECONDS) return { kind: 'absent', proof: 'weak' };
  const model = search.models[attempt.jobSpec.model];
  const seen = lookFor(attempt, model);
  const { isWhole } = await search.scan(isEndpoint(model) ? model : null, seen.look);
  return pickJob(seen.candidates({ isMarking: search.isMarking, isWhole }), attempt);
}

/** Picks from a list what may be the attempt's job, task by task. */
function lookFor(attempt: FindJobInput, model: string) {
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
     * An attempt may have no mark: marking is off, or was off when it was sent, or a gateway before
     * Ark does not echo it. Where marks are sent and any shows in the list, a task without one is
     * nobody's of ours; and a list that was not seen to its end may hold the mark, or a second one
     * alike.
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

/** Whether nothing of what Ark echoes speaks against the job being this attempt's. */
function isLike(job: ArkJob, attempt: FindJobInput, model: string): boolean {
  const { jobSpec } = attempt;
  const echoed: [unknown, unknown][] = [
    [job.model, isEndpoint(model) ? job.model : model], // an endpoint's tasks may name its model
    [job.resolution, jobSpec.resolution],
    [job.ratio, jobSpec.aspectRatio],
    [job.duration, jobSpec.durationSeconds],
    [job.generate_audio, jobSpec.generateAudio],
  ];
  const isSame = echoed.every(
    ([told, asked]) => told === undefined || told === null || told === asked,
  );
  return isSame && isInTime(job, attempt);
}

function isInTime(job: ArkJob, { sentBetween: { from, to } }: FindJobInput): boolean {
  const seconds = job.created_at ?? Number.NaN;
  return (
    seconds >= Math.floor(from / 1000) - CLOCK_SKEW_SECONDS &&
    seconds <= Math.ceil(to / 1000) + CLOCK_SKEW_SECONDS
  );
}
