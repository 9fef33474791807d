import { type Environment, number, secret, webAddress, yesOrNo } from '../../kernel/variables.ts';
import { readModels } from '../kit/configured-models.ts';
import { modelsFor } from './request.ts';

/** The limit of enterprises; individuals have 180. Source: the page on limits. */
const SUBMITS_PER_MINUTE = 600;
/** 60,000 a minute are a thousand a second, more than any account is granted. */
const PER_MINUTE = { min: 1, max: 60_000 };

export type ArkSettings = NonNullable<ReturnType<typeof readArkSettings>>;

export function readArkSettings(env: Environment) {
  const apiKey = secret(env, 'ARK_API_KEY');
  const baseUrl =
    webAddress(env, 'ARK_BASE_URL') ?? 'https://ark.ap-southeast.bytepluses.com/api/v3';
  const settings = {
    baseUrl,
    models: readModels(env, 'ARK', modelsFor(baseUrl)),
    /**
     * Sends the attempt's id as `safety_identifier`, so that a find is exact: Ark echoes nothing
     * else that is unique to an attempt. Without it, or behind a gateway that does not echo it, two
     * similar attempts can't be told apart: a single similar job is found by likeness, even if it
     * belongs to another attempt whose response was lost. The field is meant for a stable id of an
     * end user: an operator who has promised Ark such ids must switch marking off.
     */
    markAttempts: yesOrNo(env, 'ARK_MARK_ATTEMPTS', 'yes'),
    submitsPerMinute: number(env, 'ARK_SUBMITS_PER_MINUTE', SUBMITS_PER_MINUTE, PER_MINUTE),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}
