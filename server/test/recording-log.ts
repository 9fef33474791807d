import { pino } from 'pino';
import type { Log } from '../src/kernel/log.ts';

/** A log that records the lines of level warning and above. */
export function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = pino({ level: 'warn', base: null }, { write: (line: string) => lines.push(line) });
  return { log, lines };
}
