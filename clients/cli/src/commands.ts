import type { Command, Option } from './command.ts';
import { EVENT_TYPES, OUTCOMES, SETTING_OPTIONS, STATUSES, TEST_EVENT } from './request-options.ts';

const flag = (summary: string): Option => ({ kind: 'flag', summary });
const integer = (summary: string): Option => ({ kind: 'integer', value: 'N', summary });
const text = (value: string, summary: string, more: Partial<Option> = {}): Option => {
  return { kind: 'text', value, summary, ...more };
};
const file = (summary: string, more: Partial<Option> = {}): Option =>
  text('FILE', summary, { isFile: true, ...more });

const OUTPUT = file('where the video goes; default TASK.mp4 in this folder', { short: 'o' });
const FORCE = flag('replace the file if there is one');

const SETTINGS: Record<string, Option> = {
  image: file('first frame: a file or https URL'),
  'end-image': file('last frame'),
  reference: file(
    'image or video to follow; may be repeated; append #5 to the URL of a video of 5 s',
    { isList: true },
  ),
  ...SETTING_OPTIONS,
};

const PROMPT = { usage: 'PROMPT', min: 1, max: 1 };
const TASK = { usage: 'TASK', min: 1, max: 1 };

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'login',
    summary: 'store an API key on this machine',
    options: { 'base-url': text('URL', 'the service, such as https://video.example.com') },
    examples: [
      ['fw login --base-url https://video.example.com', 'asks for the key, which is not shown'],
      ['fw login', 'another key for the same service'],
      ['fw login < key.txt', 'without a question'],
    ],
    notes: 'FRAMEWRIGHT_API_KEY and FRAMEWRIGHT_BASE_URL are used instead if they are set.',
    load: async () => (await import('./run/login.ts')).login,
  },
  {
    name: 'generate',
    summary: 'make a video: shows the price, asks, waits, downloads',
    words: PROMPT,
    options: {
      output: OUTPUT,
      yes: { ...flag('agree to the price without a question'), short: 'y' },
      force: FORCE,
      again: flag('make another video, although the same one is unfinished'),
      ...SETTINGS,
    },
    examples: [
      ['fw generate "A lighthouse at dawn" -o dawn.mp4', 'text to video'],
      ['fw generate "It begins to snow" --image a.png --end-image b.png', 'between two frames'],
      [
        'fw generate "She dances like this" --reference me.png --reference clip.mp4',
        'by references',
      ],
      ['fw generate "A paper boat" --yes --json | jq -r .file', 'in a script'],
    ],
    notes: 'After a crash or Ctrl-C, fw resume goes on. The video is never made or charged twice.',
    load: async () => (await import('./run/generate.ts')).generate,
  },
  {
    name: 'resume',
    summary: 'finish what is unfinished, without paying again',
    words: { usage: '[TASK]', min: 0, max: 1 },
    options: {
      list: flag('only list what is unfinished'),
      forget: text('KEY', 'remove one from the list; its task goes on'),
      'key-changed': flag('go on with another API key of the same account'),
      output: OUTPUT,
      force: FORCE,
    },
    examples: [
      ['fw resume', 'waits for each unfinished video, and downloads the rest of it'],
      ['fw resume TASK -o boat.mp4', 'the video of any task of the account'],
    ],
    load: async () => (await import('./run/resume.ts')).resume,
  },
  {
    name: 'quote',
    summary: 'show what a video costs; makes and reserves nothing',
    words: PROMPT,
    options: SETTINGS,
    examples: [['fw quote "A lighthouse" --duration 10 --resolution 480p', 'the price in credits']],
    load: async () => (await import('./run/calls.ts')).quote,
  },
  {
    name: 'tasks',
    summary: 'list tasks, the newest first, or show one',
    words: { usage: '[TASK]', min: 0, max: 1 },
    options: {
      status: text('S', 'processing, completed or failed', { values: STATUSES }),
      model: text('NAME', 'only of this model'),
      after: text('TIME', 'created after it, such as 2026-11-01T00:00:00Z'),
      before: text('TIME', 'created before it'),
      limit: integer('how many at most; default 20'),
    },
    examples: [
      ['fw tasks --status failed --limit 5', 'the last five that failed'],
      ['fw tasks TASK', 'one task, with the link to its video'],
    ],
    load: async () => (await import('./run/calls.ts')).tasks,
  },
  {
    name: 'cancel',
    summary: 'stop a task; its credits are refunded if no video is made',
    words: TASK,
    options: {},
    examples: [['fw cancel TASK', 'prints cancelled, pending or refused']],
    load: async () => (await import('./run/calls.ts')).cancel,
  },
  {
    name: 'credits',
    summary: 'show the balance',
    options: {},
    examples: [['fw credits', 'the credits that are available']],
    load: async () => (await import('./run/calls.ts')).credits,
  },
  {
    name: 'models',
    summary: 'list the models and their prices',
    options: {},
    examples: [['fw models', 'credits for each second, by resolution']],
    load: async () => (await import('./run/calls.ts')).models,
  },
  {
    name: 'uploads',
    summary: 'upload files for later requests; costs nothing',
    words: { usage: 'FILE...', min: 1, max: 1000, isFile: true },
    options: {},
    examples: [['fw uploads first.png clip.mp4', 'prints the address of each']],
    load: async () => (await import('./run/calls.ts')).uploads,
  },
  {
    name: 'listen',
    summary: 'relay webhook events to a server on this machine',
    options: {
      forward: text('URL', 'where the events go'),
      events: text('TYPE', 'only these; may be repeated', {
        isList: true,
        values: [...EVENT_TYPES, TEST_EVENT],
      }),
      'print-secret': flag('print the secret that signs the events, and end'),
    },
    examples: [
      ['fw listen --forward http://localhost:3000/hook', 'until Ctrl-C'],
      ['export WEBHOOK_SECRET=$(fw listen --print-secret)', 'for the local server'],
    ],
    notes:
      'The secret is the same at each start on this machine. A test key relays events of test tasks.',
    load: async () => (await import('./run/listen.ts')).listen,
  },
  {
    name: 'test',
    summary: 'try each scripted outcome with a test key, for nothing',
    words: { usage: '[WORD...]', min: 0, max: 20, values: Object.keys(OUTCOMES) },
    options: {},
    examples: [
      ['fw test', 'all outcomes, and whether they are as documented'],
      ['fw test test-refused test-busy', 'only these'],
    ],
    load: async () => (await import('./run/test.ts')).tryOutcomes,
  },
  {
    name: 'completion',
    summary: 'print the completions of a shell',
    words: { usage: 'SHELL', min: 1, max: 1, values: ['bash', 'zsh', 'fish'] },
    options: {},
    examples: [
      ['source <(fw completion bash)', 'in ~/.bashrc; the same for zsh in ~/.zshrc'],
      ['fw completion fish > ~/.config/fish/completions/fw.fish', 'once'],
    ],
    load: async () => {
      const { completion } = await import('./run/completion.ts');
      return (call) => completion(call, COMMANDS);
    },
  },
  {
    name: 'logout',
    summary: 'remove the stored API key from this machine',
    options: {},
    examples: [['fw logout', 'the key itself stays valid']],
    load: async () => (await import('./run/login.ts')).logout,
  },
];
