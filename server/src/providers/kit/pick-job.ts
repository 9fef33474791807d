import type { FindJobInput, FindOutcome } from '../provider.ts';

/**
 * A job in a provider's list that may be the attempt's. `mark`: it has the attempt's mark.
 * `likeness`: it is like everything that was sent. `unclear`: the list shows too little to exclude
 * it.
 */
export interface Candidate {
  jobId: string;
  by: 'mark' | 'likeness' | 'unclear';
}

/**
 * Picks the attempt's job from the candidates. If any candidate has the mark, likeness does not
 * count, even if the marked job is taken: the list shows marks, so a job without the mark is not
 * the attempt's. A taken or unclear candidate is never returned as found.
 * @param absence what absence proves if no candidate is left
 */
export async function pickJob(
  candidates: Candidate[],
  { takenJobIds }: FindJobInput,
  absence: 'strong' | 'weak' = 'weak',
): Promise<FindOutcome> {
  const taken = await takenJobIds(idsOf(candidates));
  const free = candidates.filter(({ jobId }) => !taken.has(jobId));
  const by = candidates.some((candidate) => candidate.by === 'mark') ? 'mark' : 'likeness';
  const jobIds = idsOf(free.filter((candidate) => candidate.by === by));
  const [jobId, ...others] = jobIds;
  if (jobId === undefined) return { kind: 'absent', proof: free.length === 0 ? absence : 'weak' };
  return others.length === 0 ? { kind: 'found', jobId, by } : { kind: 'ambiguous', jobIds };
}

/** Each id once: a list that changes while its pages are read may show a job twice. */
function idsOf(candidates: Candidate[]): string[] {
  return [...new Set(candidates.map(({ jobId }) => jobId))];
}
