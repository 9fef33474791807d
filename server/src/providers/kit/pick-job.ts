import type { FindJobInput, FindOutcome } from '../provider.ts';

/**
 * A job in a provider's list that may be an attempt's: by the attempt's own mark, by all that was
 * sent, or only because nothing says that it is not.
 */
export interface Candidate {
  jobId: string;
  by: 'mark' | 'likeness' | 'unclear';
}

/**
 * Says which of the candidates is the attempt's job. A mark decides, even of a job that is taken:
 * one that is only alike is then another's. What is taken, or unclear, is never found.
 * @param absence what it proves when no candidate is left
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

/** Each id once: a list that moves on while it is read shows a job twice. */
function idsOf(candidates: Candidate[]): string[] {
  return [...new Set(candidates.map(({ jobId }) => jobId))];
}
