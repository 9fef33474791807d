import { UsageError } from '../../kernel/errors.ts';
import { listActions } from '../../operator/actions.ts';
import type { Command } from '../command.ts';

export const ACTION_COMMANDS: readonly Command[] = [
  {
    usage: 'actions list [--target ID]',
    summary: 'List what commands changed, newest first: when, who, which command, why',
    options: ['target'],
    cursorOf: (row: { id: number }) => String(row.id),
    run: (db, { options: { target }, page: { limit, after } }) =>
      listActions(db, { target, after: readActionId(after), limit }),
  },
];

function readActionId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError('--after must be the id of an action, as the list shows it');
}
