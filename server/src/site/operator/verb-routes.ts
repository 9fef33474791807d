import { Type } from 'typebox';
import { csvTable } from '../../kernel/text/csv.ts';
import type { Action } from '../../operator/actions.ts';
import type { FieldFacts } from '../../operator/verb/fields.ts';
import type { Verb } from '../../operator/verb/verb.ts';
import {
  currentName,
  type FieldOf,
  type ShownOf,
  type VerbName,
  verbsOf,
  verbsOfAllNouns,
} from '../../operator/verbs/list.ts';
import { noSuchPath } from '../../requests/errors.ts';
import { type AsJson, siteRoute } from '../route.ts';
import { sendCsv } from '../send-file.ts';
import { type OperatorDeps, PAGE_ROWS, PREFIX, pageOf, withApiErrors } from './operator-route.ts';

const ReasonSchema = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$',
});

export interface ShownVerb {
  summary: string;
  title: string;
  effect: string;
  isDangerous?: true;
  isChange: boolean;
  fields: Record<string, FieldFacts>;
}

/** The words of a verb's name, separated by slashes. */
const ParamsSchema = Type.Object({ '*': Type.String() });

/**
 * The routes of all verbs: reads such as `GET …/verbs/tasks/list?phase=held`, and changes such as
 * `POST …/verbs/tasks/cancel`, whose body has the fields and the reason. `GET …/verbs` lists them
 * with the fields of their dialogs.
 */
export const VERB_ROUTES = [
  siteRoute(`GET ${PREFIX}/verbs`, { access: 'operator', handle: shownVerbs }),
  siteRoute(`GET ${PREFIX}/verbs/*`, {
    access: 'operator',
    query: Type.Object({}, { additionalProperties: Type.String() }),
    params: ParamsSchema,
    handle: async (deps: OperatorDeps, { query, params, session, reply }) => {
      const { name, verb } = await findVerb(params['*']);
      if (isChange(verb)) throw noSuchPath();
      const { cursor, csv, ...given } = query as Record<string, string>;
      const action = { command: name, actor: session.email, reason: null };
      if (csv === undefined) return runVerb(deps, verb, { given, cursor, action });
      const rows = await runVerb(deps, verb, { given, action, limit: CSV_ROWS });
      return sendCsv(reply, `${name.replaceAll(' ', '-')}.csv`, tableOf(itemsIn(rows)));
    },
  }),
  siteRoute(`POST ${PREFIX}/verbs/*`, {
    access: 'operator',
    body: Type.Object({ reason: ReasonSchema }, { additionalProperties: true }),
    params: ParamsSchema,
    handle: async (deps: OperatorDeps, { body, params, session }) => {
      const { name, verb } = await findVerb(params['*']);
      if (!isChange(verb)) throw noSuchPath();
      const { reason, ...given } = body;
      const action = { command: name, actor: session.email, reason: reason.trim() };
      return runVerb(deps, verb, { given, action });
    },
  }),
];

/** The most rows of a list's CSV: the first ones. */
const CSV_ROWS = 10_000;

function itemsIn(result: unknown): object[] {
  const { items }: { items?: unknown } = Object(result);
  return Array.isArray(items) ? items : [];
}

/** A line for each row; values that are lists or objects are JSON. */
function tableOf(rows: object[]): string {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const lines = rows.map((row) => {
    const values = Object.entries(row).map(([name, value]) => {
      const isNested = typeof value === 'object' && value !== null && !(value instanceof Date);
      return [name, isNested ? JSON.stringify(value) : value];
    });
    return Object.fromEntries(values);
  });
  return csvTable(columns, lines);
}

/** Runs a verb for a request. Lists are sent as a page with the next one's cursor. */
function runVerb(
  { db, log, brand }: OperatorDeps,
  verb: Verb,
  {
    given,
    cursor,
    action,
    limit = PAGE_ROWS,
  }: { given: object; cursor?: string | undefined; action: Action; limit?: number },
): Promise<unknown> {
  const isItemRead = verb.positional !== undefined && !verb.reason;
  return withApiErrors(async () => {
    const page = { limit, after: cursor || undefined };
    const work = verb.prepareRequest(given);
    const fixedBrand = async () => brand.fixed;
    const { consoleWaitSeconds: waitSeconds } = verb;
    const result = await work({ db, log, page, waitSeconds, fixedBrand }, action);
    return verb.cursorOf && Array.isArray(result) ? pageOf(result, verb.cursorOf) : result;
  }, isItemRead);
}

async function findVerb(path: string): Promise<{ name: string; verb: Verb }> {
  const name = currentName(path.replaceAll('/', ' '));
  const [noun = ''] = path.split('/');
  const verbs = (await verbsOf(noun)) ?? {};
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (!verb || verb.notOnConsole !== undefined) throw noSuchPath();
  return { name, verb };
}

function isChange(verb: Verb): boolean {
  return verb.reason !== undefined || verb.isRecordedOnConsole === true;
}

type Read<Shown> = Shown extends (infer Row)[] ? { items: Row[]; next: string | null } : Shown;

type WithSlash<Name extends string> = Name extends `${infer Noun} ${infer Verb}`
  ? `${Noun}/${Verb}`
  : Name;

type ReadBy<Name extends VerbName> = {
  name: `GET ${typeof PREFIX}/verbs/${WithSlash<Name>}`;
  body: undefined;
  query: { [Field in FieldOf<Name> | 'cursor' | 'csv']?: string };
  result: AsJson<Read<ShownOf<Name>>>;
};

/** The reads that pages use, for their types. */
export type VerbReads =
  | ReadBy<'accounts list'>
  | ReadBy<'actions list'>
  | ReadBy<'brand show'>
  | ReadBy<'find'>
  | ReadBy<'orders list'>
  | ReadBy<'orders show'>
  | ReadBy<'orphans list'>
  | ReadBy<'reports list'>
  | ReadBy<'tasks list'>
  | ReadBy<'tasks show'>;

/** A change whose dialog a page opens, with the fields that the page fills in. */
export type GivenChange =
  | { verb: VerbName; given?: undefined }
  | {
      [Name in VerbName]: { verb: Name; given?: { [Field in FieldOf<Name>]?: string | boolean } };
    }[VerbName];

async function shownVerbs() {
  const all = await verbsOfAllNouns();
  const shown = all
    .flatMap((verbs) => Object.entries(verbs))
    .filter(([, verb]) => verb.notOnConsole === undefined)
    .map(([name, verb]): [string, ShownVerb] => {
      const { summary, fields, dialog } = verb;
      const words = { summary, title: name, effect: `${summary}.`, ...dialog };
      return [name, { ...words, isChange: isChange(verb), fields }];
    });
  return Object.fromEntries(shown);
}
