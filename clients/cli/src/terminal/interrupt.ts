import { stderr } from 'node:process';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** What a person is told when a signal ends the command at this moment. */
let advice = 'Nothing was charged.';
let beforeEnd: () => undefined | Promise<unknown> = () => undefined;

/** How long the end waits for what is done before it. A second signal ends at once. */
const LAST_MS = 5_000;

/** Says what a signal means from now on, and what is done before the end. */
export function onInterrupt(text: string, then: typeof beforeEnd = () => undefined): void {
  advice = text;
  beforeEnd = then;
}

/** Ends the process as a signal does, with the advice. */
export function endBy(signal: keyof typeof SIGNALS): void {
  stderr.write(`${stderr.isTTY ? '\r\x1b[K' : ''}fw: interrupted. ${advice}\n`);
  const end = () => process.exit(SIGNALS[signal]);
  const ending = beforeEnd();
  if (ending === undefined) process.exit(SIGNALS[signal]);
  setTimeout(end, LAST_MS);
  ending.then(end, end);
}

/** The first signal ends `fw` at once: all that matters is on disk already. */
export function watchSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => endBy(signal));
  }
}
