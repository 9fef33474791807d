import { OutboundError } from './refusal.ts';

/** A byte limit that several downloads share, counted after content decoding. */
export class ByteBudget {
  readonly #limitBytes: number;
  usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Counts bytes that have arrived. @throws OutboundError too_large above the limit */
  take(bytes: number): void {
    this.usedBytes += bytes;
    if (this.usedBytes <= this.#limitBytes) return;
    throw this.#exceeded(`The files have more than ${this.#limitBytes} bytes together`);
  }

  /** Checks a file's announced length, without counting it. @throws OutboundError too_large */
  requireRemaining(bytes: number): void {
    if (bytes <= Math.max(0, this.#limitBytes - this.usedBytes)) return;
    const limit = `all files together may have at most ${this.#limitBytes} bytes`;
    throw this.#exceeded(`The file has ${bytes} bytes, but ${limit}`);
  }

  #exceeded(message: string): OutboundError {
    return new OutboundError('too_large', message, { details: { limit_bytes: this.#limitBytes } });
  }
}
