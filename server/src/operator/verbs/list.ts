import type { Fields } from '../verb/fields.ts';
import type { Verb, Verbs } from '../verb/verb.ts';

/**
 * The verbs of each noun, in the order of --help. Nouns are loaded on demand. To add a verb, see
 * docs/ARCHITECTURE.md.
 */
export const NOUNS = {
  accounts: async () => (await import('./accounts.ts')).ACCOUNTS,
  keys: async () => (await import('./keys.ts')).KEYS,
  credits: async () => (await import('./credits.ts')).CREDITS_VERBS,
  packs: async () => (await import('./offers.ts')).PACKS,
  plans: async () => (await import('./offers.ts')).PLANS,
  models: async () => (await import('./models.ts')).MODELS,
  brand: async () => (await import('./brand.ts')).BRAND,
  orders: async () => (await import('./orders.ts')).ORDERS,
  tasks: async () => (await import('./tasks.ts')).TASKS,
  reconcile: async () => (await import('./reconcile.ts')).RECONCILE,
  reviews: async () => (await import('./reviews.ts')).REVIEWS,
  reports: async () => (await import('./reports.ts')).REPORTS,
  shares: async () => (await import('./shares.ts')).SHARES,
  orphans: async () => (await import('./orphans.ts')).ORPHANS,
  objects: async () => (await import('./objects.ts')).OBJECTS,
  uploads: async () => (await import('./objects.ts')).UPLOADS,
  storage: async () => (await import('./storage.ts')).STORAGE,
  secrets: async () => (await import('./upkeep.ts')).SECRETS,
  providers: async () => (await import('./providers.ts')).PROVIDERS,
  connections: async () => (await import('./routes.ts')).CONNECTIONS,
  routes: async () => (await import('./routes.ts')).ROUTES,
  terms: async () => (await import('./costs.ts')).TERMS,
  costs: async () => (await import('./costs.ts')).COSTS,
  creates: async () => (await import('./providers.ts')).CREATES,
  actions: async () => (await import('./actions.ts')).ACTIONS,
  find: async () => (await import('./find.ts')).FIND,
  doctor: async () => (await import('./doctor.ts')).DOCTOR,
  verify: async () => (await import('./verify.ts')).VERIFY,
  audit: async () => (await import('./upkeep.ts')).AUDIT,
  restored: async () => (await import('./upkeep.ts')).RESTORED,
  migrate: async () => (await import('./upkeep.ts')).MIGRATE,
} satisfies Nouns;

type Nouns = Record<string, () => Promise<Verbs>>;

/** Earlier names, which are still accepted. */
const RENAMED = new Map([['objects takedown', 'objects take-down']]);

export const currentName = (name: string): string => RENAMED.get(name) ?? name;

/** The verbs of a noun; undefined if there is none. */
export function verbsOf(noun: string): Promise<Verbs> | undefined {
  const nouns: Nouns = NOUNS;
  return Object.hasOwn(nouns, noun) ? nouns[noun]?.() : undefined;
}

/** The verbs of each noun, in the order of --help. */
export function verbsOfAllNouns(): Promise<Verbs[]> {
  return Promise.all(Object.values(NOUNS).map((read) => read()));
}

/** The verbs of all nouns, with the types of their fields and results. */
type AllVerbs = {
  [Noun in keyof typeof NOUNS]: Awaited<ReturnType<(typeof NOUNS)[Noun]>>;
}[keyof typeof NOUNS];

type KeyOfAny<Union> = Union extends unknown ? keyof Union & string : never;

export type VerbName = KeyOfAny<AllVerbs>;

export type FieldOf<Name extends VerbName> =
  Extract<AllVerbs, Record<Name, unknown>> extends Record<Name, { fields: infer Of }>
    ? keyof Of & string
    : never;

/** What the console shows of the result of a verb. */
export type ShownOf<Name extends VerbName> =
  Extract<AllVerbs, Record<Name, unknown>> extends Record<Name, Verb<Fields, unknown, infer Shown>>
    ? Shown
    : never;
