import type { BrandSettings } from '../../brand/brand.ts';
import type { VendorModel } from '../../catalog/proposed-model.ts';
import type { Database } from '../../database/database.ts';
import { Refusal } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Action } from '../actions.ts';
import type { SetUp } from '../set-up/set-up.ts';
import { type Fields, type InputOf, readInput } from './fields.ts';

export interface VerbDeps {
  db: Database;
  log: Log;
  page: ListPage;
  /** Prints a line before the result; undefined if nobody reads it. */
  show?: ((line: string) => void) | undefined;
  /** How long to wait for a worker; undefined: the default of the verb. */
  waitSeconds?: number | undefined;
  /** Opens the storage that the service is configured with. Only the command line has it. */
  openStorage?: (() => Promise<Storage>) | undefined;
  /** What `doctor` checks, as the environment configures it. Only the command line has it. */
  openSetUp?: ((db: Database, mailTo: string | undefined) => Promise<SetUp>) | undefined;
  /** Reads the list of models of a provider in the environment. Only the command line has it. */
  listVendorModels?:
    | ((provider: string, connection?: string) => Promise<VendorModel[]>)
    | undefined;
  /** The brand settings that variables set, and that no verb can change. */
  fixedBrand?: (() => Promise<BrandSettings>) | undefined;
}

export interface ListPage {
  limit: number;
  /** The cursor of the previous page's last row; undefined: the first page. */
  after: string | undefined;
}

interface Facts<Name extends string> {
  summary: string;
  /** The fields given as positional arguments, in this order. The others are options. */
  positional?: readonly Name[];
  /** Mutually exclusive fields. With `isRequired`, one of them must be given. */
  oneOf?: { fields: readonly Name[]; isRequired: boolean };
  /** Whether a reason must be given. Set if the verb makes changes, which `actions.ts` records. */
  reason?: 'required' | 'optional';
  /** Set for lists: the cursor that continues after a row; undefined: there is one page. */
  cursorOf?(row: object): string | undefined;
  /** Recorded when run on the console, although the command changes nothing. */
  isRecordedOnConsole?: boolean;
  /** How long a request of the console waits for a worker. */
  consoleWaitSeconds?: number;
  /** The text of its dialog on the console; `effect` adds what the summary leaves out. */
  dialog?: { title: string; effect?: string; isDangerous?: true };
  /** Why it has no route on the console. */
  notOnConsole?: string;
  /** Whether it migrates the schema. Others refuse an older schema. */
  migrates?: boolean;
  /** Whether it creates an embedded database where there is none. Others refuse. */
  createsDatabase?: boolean;
}

/**
 * An operator's command, defined once: the command line, its help, the console's routes and
 * dialogs, the recorded action and the table in docs/operators/commands.md are derived from it.
 */
export interface Verb<Of extends Fields = Fields, Result = unknown, Shown = unknown>
  extends Facts<string> {
  fields: Of;
  /** Parses the values by field name. @throws Refusal names the field */
  prepare(given: object): (deps: VerbDeps, action: Action) => Promise<Result>;
  /** Like `prepare`, for a request of the console. */
  prepareRequest(given: object): (deps: VerbDeps, action: Action) => Promise<Shown>;
}

/** The verbs of a noun, by name, such as `accounts disable`. */
export type Verbs = Record<string, Verb>;

export function verb<Of extends Fields, Result, Shown = Result>({
  run,
  runOnConsole,
  ...facts
}: Facts<keyof Of & string> & {
  fields: Of;
  run: (deps: VerbDeps, input: InputOf<Of>, action: Action) => Promise<Result>;
  /** Replaces `run`, to show more or because a request must not wait for it. */
  runOnConsole?: (run: () => Promise<Result>, deps: VerbDeps, action: Action) => Promise<Shown>;
}): Verb<Of, Result, Shown> {
  const prepare: Verb<Of, Result>['prepare'] = (given) => {
    const input = readInput(facts.fields, given);
    requireOneOf(facts.oneOf, input);
    return (deps, action) => run(deps, input, action);
  };
  // Without runOnConsole, Shown is Result.
  const onConsole = runOnConsole ?? ((work) => work() as Promise<unknown> as Promise<Shown>);
  return {
    ...facts,
    prepare,
    prepareRequest(given) {
      const work = prepare(given);
      return (deps, action) => onConsole(() => work(deps, action), deps, action);
    },
  };
}

function requireOneOf(oneOf: Verb['oneOf'], input: Record<string, unknown>): void {
  if (!oneOf) return;
  const [first = '', ...others] = oneOf.fields;
  const chosen = oneOf.fields.filter((name) => input[name] !== undefined && input[name] !== false);
  if (chosen.length === 1 || (chosen.length === 0 && !oneOf.isRequired)) return;
  const rest = others.map((name) => `{${name}}`).join(' or ');
  const bound = oneOf.isRequired
    ? `or ${rest} is required, and only one of them`
    : `can not be combined with ${rest}`;
  throw new Refusal(first, input[first], bound);
}

interface Rows {
  name: string;
  /** The members of each row, in this order. */
  columns: readonly string[];
  rows: AsyncIterable<object> | Iterable<object>;
  /** Whether the rows are printed as CSV, unless JSON is asked for. */
  isCsv: boolean;
  /** Called after the last row was read; CSV does not contain it. */
  summary: () => object;
}

/** A result with many rows, read and printed as a stream, and the summary that follows them. */
export class RowStream {
  readonly content: Rows;

  constructor(content: Rows) {
    this.content = content;
  }
}
