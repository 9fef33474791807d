import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { Refusal, UsageError } from '../kernel/errors.ts';
import { createLog } from '../kernel/log.ts';
import type { Action } from '../operator/actions.ts';
import { type Field, optional, readInput, text, whole } from '../operator/verb/fields.ts';
import type { ListPage, Verb, VerbDeps } from '../operator/verb/verb.ts';
import { currentName, NOUNS, verbsOf } from '../operator/verbs/list.ts';
import { optionOf, usageOf } from './help.ts';

export interface ParsedCommandLine {
  name: string;
  verb: Verb;
  json: boolean;
  page: ListPage;
  /**
   * @returns the output: one object, a list of objects, or a RowStream
   * @throws UsageError when the command is refused
   */
  run(
    deps: Pick<
      VerbDeps,
      'db' | 'show' | 'openStorage' | 'openSetUp' | 'listVendorModels' | 'fixedBrand'
    >,
  ): Promise<unknown>;
}

/** @throws UsageError with one line, when the command is unknown or its arguments are wrong */
export async function parseCommandLine(args: string[]): Promise<ParsedCommandLine> {
  const [name, verb] = await findVerb(args);
  const { positional, options } = parseArguments(name, verb, args.slice(name.split(' ').length));
  return withOptionNames(verb, async () => {
    const { json, reason, by, limit, after, ...given } = options;
    const action = readAction(verb, name, { by, reason });
    const page = readInput(PAGE, { limit, after });
    const work = verb.prepare({ ...given, ...positional });
    const log = createLog({ level: 'silent' });
    return {
      name,
      verb,
      page,
      json: json === true,
      run: (deps) => withOptionNames(verb, () => work({ ...deps, log, page }, action)),
    };
  });
}

const DEFAULT_ROWS = 100;
const PAGE = {
  limit: withDefault(whole('How many rows to print.', { min: 1, max: 1000 }), DEFAULT_ROWS),
  after: optional(text('The cursor of the last row of the previous page.')),
};

function withDefault<Value>(field: Field<Value>, value: Value): Field<Value> {
  return {
    ...field,
    isOptional: true,
    read: (given = value, refuse) => field.read(given, refuse),
  };
}

/** Does the work. A Refusal of a field becomes a UsageError that names the field's option. */
async function withOptionNames<Result>(verb: Verb, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const nameOf = (field: string) =>
      verb.positional?.includes(field) ? (verb.fields[field]?.word ?? field) : optionOf(field);
    throw new UsageError(error.wording(nameOf), { cause: error });
  }
}

async function findVerb(args: string[]): Promise<[string, Verb]> {
  const [noun = ''] = args;
  const verbs = Object.entries((await verbsOf(noun)) ?? {});
  const words = currentName(args.slice(0, 2).join(' ')).split(' ');
  const found = verbs.find(([name]) => name.split(' ').every((word, i) => words[i] === word));
  if (found) return found;
  const given = args.filter((arg) => !arg.startsWith('-'));
  throw new UsageError(
    `there is no command "${given.join(' ')}". Try: ${await suggestionsFor(given[0] ?? '')}`,
  );
}

async function suggestionsFor(noun: string): Promise<string> {
  const alike = Object.entries(NOUNS).filter(
    ([name]) => noun !== '' && (name.startsWith(noun) || noun.startsWith(name)),
  );
  const verbs = await Promise.all(alike.map(([, read]) => read()));
  const names = verbs
    .flatMap((named) => Object.keys(named))
    .map((name) => `npx --no-install framewright ${name}`);
  return names.join(', ') || 'npx --no-install framewright --help';
}

function parseArguments(name: string, verb: Verb, args: string[]) {
  const shared = [
    ...(verb.reason ? ['reason', 'by'] : []),
    ...(verb.cursorOf ? ['limit', 'after'] : []),
  ];
  const { positional: names = [], fields } = verb;
  const own = Object.entries(fields).filter(([field]) => !names.includes(field));
  const options = Object.fromEntries([
    ...own.map(([field, { kind }]) => [field.replaceAll('_', '-'), typeOf(kind === 'flag')]),
    ...shared.map((option) => [option, typeOf(false)]),
    ['json', typeOf(true)],
  ]);
  const { values, positionals } = parseStrictly(usageOf(name, verb), { args, options });
  if (positionals.length !== names.length) {
    throw new UsageError(`usage: npx --no-install framewright ${usageOf(name, verb)}`);
  }
  const given = Object.entries(values).map(([option, value]) => {
    const field = option.replaceAll('-', '_');
    return [field, fields[field]?.kind === 'file' ? bytesOf(option, value) : value];
  });
  return {
    positional: Object.fromEntries(names.map((field, i) => [field, positionals[i]])),
    options: Object.fromEntries(given) as Record<string, string | boolean | undefined> &
      Record<'reason' | 'by' | 'limit' | 'after', string | undefined>,
  };
}

/** The bytes of a file in base64. `none` is passed on: it removes the file. */
function bytesOf(option: string, file: unknown): unknown {
  if (typeof file !== 'string' || file === 'none') return file;
  try {
    return readFileSync(file, 'base64');
  } catch (error) {
    throw new UsageError(`--${option} can't be read: ${reasonOf(error)}`, { cause: error });
  }
}

function typeOf(isFlag: boolean) {
  return { type: isFlag ? ('boolean' as const) : ('string' as const) };
}

function parseStrictly(
  usage: string,
  { args, options }: { args: string[]; options: Record<string, ReturnType<typeof typeOf>> },
) {
  // parseArgs mistakes a negative number for an option, unless it follows "--".
  const isNegative = (arg: string) => /^-\d+$/.test(arg);
  const reordered = [...args.filter((arg) => !isNegative(arg)), '--', ...args.filter(isNegative)];
  try {
    return parseArgs({ args: reordered, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${reasonOf(error)}. Usage: npx --no-install framewright ${usage}`);
  }
}

/** The first sentence of an error, with plainer words for an option without its value. */
function reasonOf(error: unknown): string {
  const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s/);
  const [, option] =
    /^Option '(?:-\w, )?(--[\w-]+).*' argument (?:missing|is ambiguous)$/.exec(sentence) ?? [];
  return option === undefined ? sentence : `${option} needs a value`;
}

/** Who runs a command and why. @throws UsageError when a required reason is missing */
function readAction(
  verb: Verb,
  name: string,
  { by, reason }: Record<'by' | 'reason', string | undefined>,
): Action {
  const why = oneLine('reason', reason);
  if (verb.reason === 'required' && why === undefined) {
    throw new UsageError(`--reason is required: ${name} is recorded with it, see actions list`);
  }
  return { command: name, actor: oneLine('by', by) ?? userAndHost(), reason: why ?? null };
}

function oneLine(option: string, text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  if (trimmed && /\p{Cc}/u.test(trimmed)) {
    throw new UsageError(`--${option} must be one line without control characters`);
  }
  return trimmed || undefined;
}

/** Such as `ada@server-1`. */
function userAndHost(): string {
  let user = `uid-${process.getuid?.() ?? 'unknown'}`;
  try {
    user = userInfo().username;
  } catch {} // in a container, a user may have a number and no name
  return `${user}@${hostname()}`;
}
