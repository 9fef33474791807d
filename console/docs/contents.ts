export const EXAMPLE_IDS = {
  task: 'task_0VbkHu2oZVWDaBsvQf6tNbTO',
  webhook: 'we_0VGq3v9x7Zk3fQ2mR8yT1bNc',
  upload: 'obj_0VbbyZIHWPwjVj4kV2M58OWQ',
  event: 'evt_7c1d0f5e2b9a4c3d8e6f1a2b3c4d5e6f',
};

export interface Entry {
  /** The last segment of its URL. */
  slug: string;
  /** The Markdown file, relative to the root of the repository. */
  file: string;
  /** Its title in the contents; by default its heading. */
  short?: string;
}

export interface Book {
  path: string;
  title: string;
  /** Its pages, by the title of their chapter. */
  chapters: Record<string, Entry[]>;
}

const guide = (slug: string, short?: string): Entry =>
  Object.assign({ slug, file: `docs/customers/${slug}.md` }, short && { short });
const client = (slug: string, short: string): Entry => ({
  slug,
  file: `clients/${slug}/README.md`,
  short,
});

/** Customers' pages. The reference is added from openapi.json (reference.ts). */
export const GUIDES: Book = {
  path: '/docs',
  title: 'Documentation',
  chapters: {
    Start: [
      guide('quickstart', 'Your first video'),
      guide('inputs', 'Text, frames, references'),
      guide('prices', 'Prices and quotes'),
      guide('waiting', 'Waiting for a video'),
    ],
    Build: [
      guide('paying-once', 'Paying exactly once'),
      { slug: 'errors', file: 'docs/customers/ERRORS.md', short: 'Errors and money' },
      guide('test-keys', 'Test keys and CI'),
      guide('uploads'),
      guide('webhooks'),
      guide('limits'),
      guide('media-rules'),
    ],
    Tools: [
      guide('packages', 'Install a client'),
      { slug: 'curl', file: 'docs/customers/api.md', short: 'curl' },
      client('typescript', 'TypeScript'),
      client('python', 'Python'),
      client('ai-sdk', 'AI SDK'),
      client('cli', 'fw, the command line'),
      client('mcp', 'MCP server'),
    ],
    'Go live': [
      guide('going-live', 'The checklist'),
      guide('moving', 'Moving from another API'),
      guide('changelog', 'Changes'),
    ],
  },
};

export function entriesOf({ chapters }: Book): Entry[] {
  return Object.values(chapters).flat();
}

export function filesOf(book: Book): string[] {
  return entriesOf(book).map(({ file }) => file);
}

const operations = (slug: string): Entry => ({ slug, file: `docs/operators/${slug}.md` });

/** Operators' pages, visible to operators only. */
export const OPERATIONS: Book = {
  path: '/docs/operations',
  title: 'Operating Framewright',
  chapters: {
    Begin: [
      { slug: 'overview', file: 'docs/operators/README.md', short: 'Overview' },
      ...[
        'console',
        'commands',
        'sign-in',
        'storage',
        'outbound',
        'brand',
        'moderation',
        'reports',
        'content-credentials',
        'law',
        'upgrades',
      ].map(operations),
    ],
    Money: ['models', 'billing', 'credits', 'costs'].map(operations),
    'When something is wrong': [
      'held-tasks',
      'provider-outage',
      'full-disk',
      'lost-database',
      'restore',
      'webhooks',
      'load',
    ].map(operations),
    'Watch and grow': [
      'connections-and-routes',
      'metrics',
      'tracing',
      'performance',
      'scaling',
      'many-processes',
      'database-roles',
    ].map(operations),
  },
};
