import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Ask, type AskDeps, NoVerdict, postJson, type Question } from './ask.ts';

const ResultsSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      flagged: Type.Boolean(),
      categories: Type.Optional(Type.Unknown()),
    }),
    { minItems: 1 },
  ),
});

/**
 * Asks a service with the API of `/v1/moderations`, once for the prompt and once for each picture:
 * some take one picture per request. What is flagged is denied. The API takes no videos.
 * Source: OpenAI's API reference, "Create moderation".
 */
export function askModerations(deps: AskDeps): Ask {
  const { secret, sendsImages } = deps.service;
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  return async (question) => {
    const inputs = [question.task.request.prompt, ...(sendsImages ? picturesOf(question) : [])];
    const answers = await Promise.allSettled(
      inputs.map((input) => flagsOf(deps, question, { headers, input })),
    );
    const flags = answers.flatMap((answer) =>
      answer.status === 'fulfilled' && answer.value ? [answer.value] : [],
    );
    // One flagged part denies, even if another has no verdict, such as a picture it can't read.
    if (flags.length > 0) {
      return { verdict: 'deny', reason: [...new Set(flags.flat())].join(', ') || null };
    }
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed) throw failed.reason;
    return { verdict: 'allow' };
  };
}

function picturesOf({ inputs }: Question) {
  return inputs
    .filter(({ media_type: type }) => type.startsWith('image/'))
    .map(({ url }) => [{ type: 'image_url', image_url: { url } }]);
}

/** The categories of a flagged input; undefined: it is not flagged. */
async function flagsOf(
  deps: AskDeps,
  question: Question,
  { headers, input }: { headers: Record<string, string>; input: unknown },
): Promise<string[] | undefined> {
  const { model } = deps.service;
  const body = JSON.stringify({ ...(model !== undefined && { model }), input });
  const answer = await postJson(deps, question, { headers, body });
  if (!Value.Check(ResultsSchema, answer)) throw new NoVerdict('its response has no results');
  const flagged = answer.results.filter((result) => result.flagged);
  if (flagged.length === 0) return undefined;
  return flagged.flatMap(({ categories }) =>
    Object.entries(Object(categories)).flatMap(([name, isFound]) => (isFound === true ? name : [])),
  );
}
