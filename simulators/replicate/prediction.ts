import { errorText, type ReplicateJob, wordOf } from './job.ts';

/**
 * A prediction as Replicate shows it in reads, lists and webhooks.
 * @param outputUrl its link, shown if it succeeded
 * @param word its status, for a moment other than now
 */
export function predictionOf(
  job: ReplicateJob,
  jobSeconds: number,
  outputUrl: string,
  word = wordOf(job, jobSeconds),
) {
  const isOver = ['succeeded', 'failed', 'canceled', 'aborted'].includes(word);
  const endedAt = new Date(job.createdAt + jobSeconds * 1000).toISOString();
  const at = `${job.origin}/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: job.model,
    version: 'hidden',
    status: word,
    input: job.input,
    output: word === 'succeeded' ? outputUrl : null,
    error: word === 'failed' ? errorText(job) : null,
    logs: '',
    metrics: isOver && word !== 'aborted' ? { predict_time: jobSeconds } : {},
    created_at: new Date(job.createdAt).toISOString(),
    started_at: word === 'starting' || word === 'aborted' ? null : endedAt,
    completed_at: isOver ? endedAt : null,
    deadline: new Date(job.deadlineAt).toISOString(),
    data_removed: false,
    source: 'api',
    urls: { get: at, cancel: `${at}/cancel`, web: at },
    ...(job.showsWebhook ? { webhook: job.callbackUrl } : {}),
  };
}
