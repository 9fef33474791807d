import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseJson } from '../kit/remote.ts';
import type { CancelOutcome } from '../provider.ts';
import { askServer, type ServerAddress, unexpectedResponse } from './server.ts';

const CancelledSchema = Type.Object({ cancelled: Type.Boolean() });

/**
 * Removes a job from the server's queue, or interrupts it. Servers without `/api/jobs` refuse.
 * Source: ComfyUI `server.py`, `POST /api/jobs/{id}/cancel`.
 */
export async function cancelPrompt(server: ServerAddress, jobId: string): Promise<CancelOutcome> {
  const path = `/api/jobs/${encodeURIComponent(jobId)}/cancel`;
  const response = await askServer(server, { method: 'POST', path });
  const body = parseJson(response.body);
  if (response.status === 200 && Value.Check(CancelledSchema, body)) {
    if (body.cancelled) return { kind: 'accepted' };
    return { kind: 'refused', cause: 'the job neither waits nor runs at the server' };
  }
  if (response.status !== 404 && response.status !== 405) {
    throw unexpectedResponse(path, response.status);
  }
  const cause = 'the server does not know the job, or is too old to cancel one by its id';
  return { kind: 'refused', cause };
}
