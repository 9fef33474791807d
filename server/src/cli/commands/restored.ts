import { recoverRestored } from '../../operator/restored.ts';
import type { Command } from '../command.ts';

export const RESTORED_COMMAND: Command = {
  usage: 'restored [--nothing-lost] --reason TEXT',
  summary: 'After a restore or fail-over: hold what may have been submitted, then go on',
  options: [],
  flags: ['nothing-lost'],
  reason: 'required',
  run: (db, { options, action }) =>
    recoverRestored(db, action, { nothingLost: options['nothing-lost'] !== undefined }),
};
