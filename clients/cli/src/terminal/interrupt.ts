import { stderr } from 'node:process';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Printed when a signal ends the command; `beforeEnd` runs before its exit. */
let advice = 'Nothing was charged.';
let beforeEnd: () => undefined | Promise<unknown> = () => undefined;

/** How long the exit waits for `beforeEnd`. A second signal exits at once. */
const LAST_MS = 5_000;

export function onInterrupt(text: string, cleanUp: typeof beforeEnd = () => undefined): void {
  advice = text;
  beforeEnd = cleanUp;
}

export function endBy(signal: keyof typeof SIGNALS): void {
  stderr.write(`${stderr.isTTY ? '\r\x1b[K' : ''}fw: interrupted. ${advice}\n`);
  const end = () => process.exit(SIGNALS[signal]);
  const ending = beforeEnd();
  if (ending === undefined) process.exit(SIGNALS[signal]);
  setTimeout(end, LAST_MS);
  ending.then(end, end);
}

/** The first signal ends `fw`: everything that matters is already on disk. */
export function watchSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => endBy(signal));
  }
}
