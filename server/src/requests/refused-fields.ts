import type { FastifyError, FastifyRequest } from 'fastify';
import { type InputRefusal, refusedInputs } from '../catalog/input-refusal.ts';
import { inputName, mediaUrlsOf, storedUrl, UrlSchema, urlProblem } from '../catalog/request.ts';
import type { ErrorDetails } from '../kernel/errors.ts';
import type { HostRules } from '../outbound/addresses.ts';

type FailedRule = Pick<
  NonNullable<FastifyError['validation']>[number],
  'keyword' | 'params' | 'message'
>;

const REASONS: Record<string, string> = {
  required: 'required',
  additionalProperties: 'unknown_property',
  type: 'wrong_type',
  enum: 'not_one_of',
  minLength: 'too_short',
  maxLength: 'too_long',
  minimum: 'too_small',
  maximum: 'too_large',
  minItems: 'too_few',
  maxItems: 'too_many',
  format: 'malformed',
};

export function brokenRule({ keyword, params }: FailedRule): ErrorDetails {
  return { reason: REASONS[keyword] ?? 'invalid', ...limitsOf(params) };
}

function limitsOf(params: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).filter(([key]) => ['limit', 'allowedValues', 'type'].includes(key)),
  );
}

const ESCAPING =
  'write international host names in punycode (xn--...), and percent-encode spaces and all other ' +
  'characters that a URL may not contain';

export function ruleSentence(where: string, { keyword, params, message }: FailedRule): string {
  if (keyword === 'required') return `${where} is required.`;
  if (keyword === 'additionalProperties') {
    return `${JSON.stringify(where)} is not a known property.`;
  }
  if (keyword === 'enum' && Array.isArray(params.allowedValues)) {
    return `${where} must be one of ${params.allowedValues.join(', ')}.`;
  }
  if (keyword === 'format' && params.format === 'uri') {
    return `${where} must be an absolute URL in ASCII: ${ESCAPING}.`;
  }
  if (where === 'prompt' && /Length$/.test(keyword)) {
    return 'prompt must contain between 3 and 4000 characters.';
  }
  // The validator writes 'must NOT have …'.
  return `${where} ${message?.replace('NOT', 'not') ?? 'is not valid'}.`;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For routes whose body names files by URL: their errors list every refused URL. */
    mediaUrls?: { hosts: HostRules; publicUrl(): string };
  }
}

/** The `inputs` of the details: all media URLs of the body that can be refused without a fetch. */
export function refusedUrls(request: FastifyRequest): { inputs?: ErrorDetails[] } {
  const { mediaUrls } = request.routeOptions.config;
  if (mediaUrls === undefined) return {};
  const matches = request.compileValidationSchema(UrlSchema);
  const refusals = mediaUrlsOf(request.body).flatMap(({ url, ...input }): InputRefusal[] => {
    const [failed] = matches(url) ? [] : (matches.errors ?? []);
    if (failed) {
      const { reason, ...measured } = brokenRule(failed);
      const message = ruleSentence(inputName(input), failed);
      return [{ input, reason: String(reason), message, measured }];
    }
    const stored = storedUrl(String(url), mediaUrls.publicUrl());
    const problem = urlProblem(stored, mediaUrls.hosts);
    return problem === undefined
      ? []
      : [{ input, reason: problem.reason, message: problem.message }];
  });
  return refusedInputs(refusals);
}
