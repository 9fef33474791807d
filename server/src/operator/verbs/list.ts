import type { Verbs } from '../verb/verb.ts';

/**
 * The verbs of each noun, in the order of --help. A noun is read when somebody asks for it. To add
 * a verb, see docs/ARCHITECTURE.md.
 */
export const NOUNS = {
  accounts: async () => (await import('./accounts.ts')).ACCOUNTS,
  keys: async () => (await import('./keys.ts')).KEYS,
  credits: async () => (await import('./credits.ts')).CREDITS_VERBS,
  packs: async () => (await import('./offers.ts')).PACKS,
  plans: async () => (await import('./offers.ts')).PLANS,
  orders: async () => (await import('./orders.ts')).ORDERS,
  tasks: async () => (await import('./tasks.ts')).TASKS,
  reconcile: async () => (await import('./reconcile.ts')).RECONCILE,
  orphans: async () => (await import('./orphans.ts')).ORPHANS,
  objects: async () => (await import('./objects.ts')).OBJECTS,
  uploads: async () => (await import('./objects.ts')).UPLOADS,
  storage: async () => (await import('./storage.ts')).STORAGE,
  secrets: async () => (await import('./upkeep.ts')).SECRETS,
  providers: async () => (await import('./providers.ts')).PROVIDERS,
  creates: async () => (await import('./providers.ts')).CREATES,
  actions: async () => (await import('./actions.ts')).ACTIONS,
  audit: async () => (await import('./upkeep.ts')).AUDIT,
  restored: async () => (await import('./upkeep.ts')).RESTORED,
  migrate: async () => (await import('./upkeep.ts')).MIGRATE,
} satisfies Nouns;

/** How the verbs of each noun are read. */
export type Nouns = Record<string, () => Promise<Verbs>>;
