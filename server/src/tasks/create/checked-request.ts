import type { Price } from '../../catalog/price.ts';
import type { GenerationRequest } from '../../catalog/request.ts';

/**
 * The surface of the website (C20). Its tasks spend promotional credits first, then paid ones.
 * Those of test keys spend test credits, and all others spend paid credits only.
 */
export const WEB_SURFACE = 'web';

/** The surface of the public API with a live key. */
export const API_SURFACE = 'api';

/** An Idempotency-Key, its account and surface, and the fingerprint of its request. */
export interface Binding {
  accountId: string;
  /** Where the request came in (C20). */
  surface: string;
  idempotencyKey: string;
  fingerprint: Buffer;
  /** Whether it had a monthly cap at the admission. Undefined for a task of the website. */
  apiKey?: { id: string; hasCap: boolean } | undefined;
  /** The trace context of the request; the spans of the task's steps belong to its trace. */
  traceparent?: string | undefined;
  /** The id of the HTTP request, by which customers and operators name it. */
  requestId?: string | undefined;
}

/** A valid request that is to become a task. */
export interface CheckedRequest {
  binding: Binding;
  request: GenerationRequest;
  price: Price;
}
