import type { SimulatedResponse } from '../kit/exchange.ts';
import { isListed } from '../kit/stage.ts';
import { refuse } from './errors.ts';
import { endingOf, type FalJob, wordOf } from './job.ts';

/**
 * A page of the finished requests of an endpoint, newest first.
 * Source: fal docs, platform APIs, models/requests/by-endpoint.
 */
export function historyPage(
  jobs: FalJob[],
  query: URLSearchParams,
  jobSeconds: number,
): SimulatedResponse {
  const endpoints = query.getAll('endpoint_id').flatMap((ids) => ids.split(','));
  const start = Date.parse(query.get('start') ?? '') || Date.now() - 86_400_000;
  const end = Date.parse(query.get('end') ?? '') || Date.now();
  const limit = Number(query.get('limit') ?? 50);
  if (endpoints.length === 0 || limit > 100) return refuse({ kind: 'refuse', status: 400 });
  const first = Number(query.get('cursor') ?? 0);
  const rows = jobs
    .filter((job) => endpoints.includes(job.endpoint) && isListed(job))
    .filter((job) => wordOf(job, jobSeconds) === 'COMPLETED')
    .filter((job) => job.createdAt >= start && job.createdAt < end)
    .sort((a, b) => b.createdAt - a.createdAt);
  const withPayloads = query.get('expand') === 'payloads';
  const items = rows.slice(first, first + limit).map((job) => row(job, jobSeconds, withPayloads));
  const next = first + limit < rows.length ? String(first + limit) : null;
  return { status: 200, json: { items, next_cursor: next, has_more: next !== null } };
}

function row(job: FalJob, jobSeconds: number, withPayloads: boolean) {
  const ending = endingOf(job);
  const endedAt = job.createdAt + jobSeconds * 1000;
  return {
    request_id: job.id,
    endpoint_id: job.endpoint,
    sent_at: new Date(job.createdAt).toISOString(),
    started_at: new Date(job.createdAt).toISOString(),
    ended_at: new Date(endedAt).toISOString(),
    status_code: ending.kind === 'ok' ? 200 : ending.status,
    duration: jobSeconds,
    ...(withPayloads ? { json_input: job.input } : {}),
  };
}
