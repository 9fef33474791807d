import { UsageError } from '../kernel/errors.ts';
import {
  choice,
  type Environment,
  namingVariables,
  number,
  read,
  refuseVariable,
  secret,
  webAddress,
  wholeNumber,
  yesOrNo,
} from '../kernel/variables.ts';
import type { ModerationService } from '../moderation/ask.ts';
import { parseWordList } from '../moderation/word-list.ts';
import { checkUrl, type HostRules } from '../outbound/addresses.ts';
import { OutboundError } from '../outbound/refusal.ts';
import { fileText } from './models-file.ts';

/** Checks of requests before their submit. */
export function readModeration(env: Environment, hosts: HostRules) {
  const file = read(env, 'MODERATION_WORDS_FILE', '');
  return {
    words:
      file === ''
        ? undefined
        : namingVariables(`MODERATION_WORDS_FILE: ${file}`, () => parseWordList(fileText(file))),
    service: readService(env, hosts),
    onFailure: choice(env, 'MODERATION_ON_FAILURE', 'closed', ['closed', 'open']),
    reviewSeconds: 3600 * number(env, 'MODERATION_REVIEW_HOURS', 48, { max: 500 }),
    refusalLimit: wholeNumber(env, 'MODERATION_REFUSAL_LIMIT', 20, { min: 0, max: 1_000_000 }),
  };
}

function readService(env: Environment, hosts: HostRules): ModerationService | undefined {
  const url = webAddress(env, 'MODERATION_URL');
  const service = {
    kind: choice(env, 'MODERATION_KIND', 'webhook', ['webhook', 'moderations']),
    secret: secret(env, 'MODERATION_SECRET'),
    model: read(env, 'MODERATION_MODEL', '') || undefined,
    sendsImages: yesOrNo(env, 'MODERATION_IMAGES', 'yes'),
    timeoutSeconds: number(env, 'MODERATION_TIMEOUT_SECONDS', 10, { min: 0.1, max: 60 }),
  };
  if (url === undefined) return undefined;
  requireReachable(url, hosts);
  if (service.kind === 'webhook') requireSigningSecret(service.secret);
  return { url, ...service };
}

function requireReachable(url: string, hosts: HostRules): void {
  try {
    checkUrl(url, hosts, { plainHttpWhereAllowed: true });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    refuseVariable('MODERATION_URL', url, 'a public https address, or a host on OUTBOUND_ALLOW');
  }
}

/** Standard Webhooks asks for 24 bytes or more. */
function requireSigningSecret(given: string | undefined): void {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(given ?? '') ?? [];
  if (Buffer.from(base64, 'base64').length >= 24) return;
  throw new UsageError(
    'MODERATION_SECRET must be set with MODERATION_URL: expected whsec_ and the base64 of 24 ' +
      'random bytes or more',
  );
}
