import { pauseCreates, resumeCreates, showCreates } from '../../operator/pausing.ts';
import type { Command } from '../command.ts';

export const CREATE_COMMANDS: readonly Command[] = [
  {
    usage: 'creates pause --reason TEXT',
    summary: 'Respond 503 to creates of all accounts and reserve nothing; tasks go on',
    options: [],
    reason: 'required',
    run: (db, { action }) => pauseCreates(db, action),
  },
  {
    usage: 'creates resume',
    summary: 'Accept creates again',
    options: [],
    reason: 'optional',
    run: (db, { action }) => resumeCreates(db, action),
  },
  {
    usage: 'creates status',
    summary: 'Show whether creates are paused, since when and why',
    options: [],
    run: (db) => showCreates(db),
  },
];
