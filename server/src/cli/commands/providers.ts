import { listProviders, pauseProvider, resumeProvider } from '../../operator/pausing.ts';
import type { Command } from '../command.ts';

export const PROVIDER_COMMANDS: readonly Command[] = [
  {
    usage: 'providers pause PROVIDER --reason TEXT',
    summary: 'Submit nothing to a provider: its tasks wait, creates for it get 503',
    options: [],
    reason: 'required',
    run: (db, { words: [provider = ''], action }) => pauseProvider(db, action, provider),
  },
  {
    usage: 'providers resume PROVIDER',
    summary: 'End a pause, or the wait after an outage: waiting tasks are submitted at once',
    options: [],
    reason: 'optional',
    run: (db, { words: [provider = ''], action }) => resumeProvider(db, action, provider),
  },
  {
    usage: 'providers status',
    summary: 'Show which providers take jobs, which are paused or closed, and why',
    options: [],
    run: (db) => listProviders(db),
  },
];
