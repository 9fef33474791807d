import { errorText, isRemoved, type ReplicateJob, wordOf } from './job.ts';

interface Times {
  jobSeconds: number;
  outputSeconds: number;
}

/**
 * A prediction as Replicate shows it in reads, lists and webhooks.
 * @param outputUrl its link, shown if it succeeded
 * @param word its status, for a moment other than now
 */
export function predictionOf(
  job: ReplicateJob,
  times: Times,
  outputUrl: string,
  word = wordOf(job, times.jobSeconds),
) {
  const removed = isRemoved(job, times);
  const isOver = ['succeeded', 'failed', 'canceled', 'aborted'].includes(word);
  const endedAt = new Date(job.createdAt + times.jobSeconds * 1000).toISOString();
  const at = `${job.origin}/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: job.model,
    version: 'hidden',
    status: word,
    input: removed ? {} : job.input,
    output: word === 'succeeded' && !removed ? outputUrl : null,
    error: word === 'failed' ? errorText(job) : null,
    logs: '',
    metrics: isOver && word !== 'aborted' ? { predict_time: times.jobSeconds } : {},
    created_at: new Date(job.createdAt).toISOString(),
    started_at: word === 'starting' || word === 'aborted' ? null : endedAt,
    completed_at: isOver ? endedAt : null,
    deadline: new Date(job.deadlineAt).toISOString(),
    data_removed: removed,
    source: 'api',
    urls: { get: at, cancel: `${at}/cancel`, web: at },
    ...(job.showsWebhook ? { webhook: job.callbackUrl } : {}),
  };
}
