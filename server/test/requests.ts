import { Value } from 'typebox/value';
import { GenerationBodySchema, type GenerationRequest } from '../src/catalog/request.ts';

/** A request as it is stored: with the defaults of the fields that it leaves out. */
export function requestOf(body: Partial<GenerationRequest>): GenerationRequest {
  return Value.Default(GenerationBodySchema, { ...body }) as GenerationRequest;
}
