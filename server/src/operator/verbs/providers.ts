import { PROVIDER_NAMES } from '../../providers/registry.ts';
import {
  listProviders,
  pauseCreates,
  pauseProvider,
  resumeCreates,
  resumeProvider,
  showCreates,
} from '../pausing.ts';
import { choiceOf } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const OF_PROVIDER = {
  fields: { provider: choiceOf('The provider.', PROVIDER_NAMES, { word: 'PROVIDER' }) },
  words: ['provider'],
} as const;

export const PROVIDERS = {
  'providers pause': verb({
    summary: 'Submit nothing to a provider: its tasks wait, creates for it get 503',
    ...OF_PROVIDER,
    reason: 'required',
    dialog: { title: 'Pause the provider', isDangerous: true },
    run: ({ db }, { provider }, action) => pauseProvider(db, action, provider),
  }),
  'providers resume': verb({
    summary: 'End a pause, or the wait after an outage: waiting tasks are submitted at once',
    ...OF_PROVIDER,
    reason: 'optional',
    dialog: { title: 'Resume the provider' },
    run: ({ db }, { provider }, action) => resumeProvider(db, action, provider),
  }),
  'providers status': verb({
    summary: 'Show which providers take jobs, which are paused or closed, and why',
    fields: {},
    run: ({ db }) => listProviders(db),
  }),
};

export const CREATES = {
  'creates pause': verb({
    summary: 'Respond 503 to creates of all accounts and reserve nothing; tasks go on',
    fields: {},
    reason: 'required',
    dialog: { title: 'Pause creates', isDangerous: true },
    run: ({ db }, _, action) => pauseCreates(db, action),
  }),
  'creates resume': verb({
    summary: 'Accept creates again',
    fields: {},
    reason: 'optional',
    dialog: { title: 'Resume creates' },
    run: ({ db }, _, action) => resumeCreates(db, action),
  }),
  'creates status': verb({
    summary: 'Show whether creates are paused, since when and why',
    fields: {},
    run: ({ db }) => showCreates(db),
  }),
};
