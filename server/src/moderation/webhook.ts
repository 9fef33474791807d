import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { signatureHeaders } from '../webhooks/signature.ts';
import { type Ask, type AskDeps, NoVerdict, postJson } from './ask.ts';

const AnswerSchema = Type.Object({
  verdict: Type.Enum(['allow', 'deny', 'review']),
  reason: Type.Optional(Type.Unknown()), // a verdict counts, whatever is beside it
});

/** Asks an operator's own service by a POST that is signed by Standard Webhooks. */
export function askWebhook(deps: AskDeps): Ask {
  const { secret } = deps.service;
  return async (question) => {
    const { task, accountAgeDays, inputs } = question;
    const { prompt, model, mode } = task.request;
    const timestamp = Math.floor(task.now_seconds);
    const body = JSON.stringify({
      type: 'moderation.requested',
      timestamp: new Date(timestamp * 1000).toISOString(),
      data: {
        task_id: task.id,
        prompt,
        model,
        mode,
        account_age_days: accountAgeDays,
        inputs,
      },
    });
    // The event id is the task's id: a repeated question about a task is the same message.
    const message = { eventId: task.id, timestamp, body };
    const headers = signatureHeaders(message, secret === undefined ? [] : [secret]);
    const answer = await postJson(deps, question, { headers, body });
    if (!Value.Check(AnswerSchema, answer)) throw new NoVerdict('its response has no verdict');
    const { verdict } = answer;
    const reason = typeof answer.reason === 'string' ? answer.reason : null;
    return verdict === 'allow' ? { verdict } : { verdict, reason };
  };
}
