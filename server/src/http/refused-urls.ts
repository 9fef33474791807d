import type { FastifyRequest } from 'fastify';
import { type InputRefusal, refusedInputs } from '../catalog/input-refusal.ts';
import { inputName, mediaUrlsOf, storedUrl, UrlSchema, urlProblem } from '../catalog/request.ts';
import type { ErrorDetails } from '../kernel/errors.ts';
import type { HostRules } from '../outbound/addresses.ts';
import { brokenRule, ruleSentence } from './schema-rules.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of a route whose body names files by URL: its errors list each URL that is refused. */
    mediaUrls?: { hosts: HostRules; publicUrl(): string };
  }
}

/**
 * The member `inputs` of the details: all media URLs of the body that are refused as they are
 * written, whichever fault of the request is reported.
 */
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
