import { hostname, userInfo } from 'node:os';
import { UsageError } from '../kernel/errors.ts';
import type { Action } from '../operator/actions.ts';
import type { Verb } from '../operator/verb/verb.ts';

/**
 * Who runs a command and why, from --by and --reason.
 * @throws UsageError when a required reason is missing, or a text has several lines
 */
export function readAction(
  command: Pick<Verb, 'reason'>,
  name: string,
  { by, reason }: Record<string, string | undefined>,
): Action {
  const why = oneLine('reason', reason);
  if (command.reason === 'required' && why === undefined) {
    throw new UsageError(`--reason is required: ${name} records why, for actions list`);
  }
  return { command: name, actor: oneLine('by', by) ?? userAndHost(), reason: why ?? null };
}

function oneLine(option: string, text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  if (trimmed && /\p{Cc}/u.test(trimmed)) {
    throw new UsageError(`--${option} must be one line without control characters`);
  }
  return trimmed || undefined;
}

/** Such as `ada@server-1`. In a container, a user may have a number and no name. */
function userAndHost(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
