import type { ErrorDetails } from '../kernel/errors.ts';
import { inputName, type RequestedInput } from './request.ts';

/** Why one file of a request was refused. */
export interface InputRefusal {
  input: Pick<RequestedInput, 'field' | 'entry'>;
  reason: string;
  /** A sentence for the client. */
  message: string;
  /** The measured values, and the bound that they break. */
  measured?: ErrorDetails | undefined;
}

/** One of `details.inputs`, which lists all refused files of a request. */
function listedInput({ input, reason, message, measured }: InputRefusal): ErrorDetails {
  const index = input.entry === null ? {} : { index: input.entry };
  return { field: input.field, ...index, reason, message, ...measured };
}

/** The member of `details` that lists all refused files, in this order; absent without any. */
export function refusedInputs(refusals: InputRefusal[]): { inputs?: ErrorDetails[] } {
  return refusals.length === 0 ? {} : { inputs: refusals.map(listedInput) };
}

/** The message and details of an error that is about one refused file. */
export function firstRefusal({ input, reason, message, measured }: InputRefusal): {
  message: string;
  details: ErrorDetails;
} {
  const entry = input.entry === null ? {} : { entry: input.entry };
  return {
    message: `${inputName(input)}: ${message}`,
    details: { field: input.field, ...entry, reason, ...measured },
  };
}
