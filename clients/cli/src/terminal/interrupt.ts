import { stderr } from 'node:process';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** What a person is told when a signal ends the command at this moment. */
let advice = 'Nothing was charged.';
let beforeEnd = () => {};

/** Says what a signal means from now on, and what is done before the end. */
export function onInterrupt(text: string, then: () => void = () => {}): void {
  advice = text;
  beforeEnd = then;
}

/** Ends the process as a signal does, with the advice. */
export function endBy(signal: keyof typeof SIGNALS): never {
  stderr.write(`${stderr.isTTY ? '\r\x1b[K' : ''}fw: interrupted. ${advice}\n`);
  beforeEnd();
  process.exit(SIGNALS[signal]);
}

/** The first signal ends `fw` at once: all that matters is on disk already. */
export function watchSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => endBy(signal));
  }
}
