import { parseArgs } from 'node:util';
import { UsageError } from '../kernel/errors.ts';
import { readAction } from './action.ts';
import type { Arguments, Command, ListPage } from './command.ts';
import { COMMANDS } from './commands.ts';

/** A parsed and validated command line. */
export interface ParsedCommandLine extends Arguments {
  command: Command;
  json: boolean;
}

/**
 * Parses the words after `framewright`.
 * @throws UsageError with one line, when the command is unknown or its words or options are wrong
 */
export function parseCommandLine(args: string[]): ParsedCommandLine {
  const command = findCommand(args);
  const rest = args.slice(nameOf(command).length);
  const names = [...command.options, ...sharedOptions(command)].map(
    (name) => [name, { type: 'string' }] as const,
  );
  const flags = (command.flags ?? []).map((name) => [name, { type: 'boolean' }] as const);
  const { values, positionals } = parseStrictly(command, {
    // parseArgs reads a negative number as an option, unless the number comes after "--".
    args: [
      ...rest.filter((arg) => !/^-\d+$/.test(arg)),
      '--',
      ...rest.filter((arg) => /^-\d+$/.test(arg)),
    ],
    options: { ...Object.fromEntries([...names, ...flags]), json: { type: 'boolean' } },
  });
  const { json, ...given } = values;
  if (positionals.length !== positionalNames(command).length) {
    throw new UsageError(`usage: npx framewright ${command.usage}`);
  }
  const options = textsOf(given);
  const action = readAction(command, nameOf(command).join(' '), options);
  const page = readPage(options);
  return { command, words: positionals, options, action, page, json: json === true };
}

/** The options that a command takes because it changes something, or because it is a list. */
function sharedOptions(command: Command): string[] {
  return [
    ...(command.reason ? ['reason', 'by'] : []),
    ...(command.cursorOf ? ['limit', 'after'] : []),
  ];
}

const MAX_ROWS = 1000;
const DEFAULT_ROWS = 100;

function readPage({ limit = String(DEFAULT_ROWS), after }: Arguments['options']): ListPage {
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (rows < 1 || rows > MAX_ROWS) {
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_ROWS}`);
  }
  return { limit: rows, after };
}

function findCommand(args: string[]): Command {
  const found = COMMANDS.find((command) => nameOf(command).every((word, i) => args[i] === word));
  if (found) return found;
  const given = args.filter((arg) => !arg.startsWith('-')).join(' ');
  const [noun = ''] = given.split(' ');
  const alike = COMMANDS.map(nameOf).filter(
    ([first = '']) => noun !== '' && (first.startsWith(noun) || noun.startsWith(first)),
  );
  const hint = alike.map((name) => `npx framewright ${name.join(' ')}`).join(', ');
  throw new UsageError(`there is no command "${given}". Try: ${hint || 'npx framewright --help'}`);
}

/** The name of a command: the lower-case words at the beginning of its usage. */
function nameOf(command: Command): string[] {
  return command.usage.split(' ').filter((word) => /^[a-z][a-z-]*$/.test(word));
}

function positionalNames(command: Command): string[] {
  const beforeOptions = command.usage.split(/ [[(]?--/)[0] ?? '';
  return beforeOptions.split(' ').slice(nameOf(command).length);
}

type ParseConfig = { args: string[]; options: Record<string, { type: 'string' | 'boolean' }> };

function parseStrictly(command: Command, config: ParseConfig) {
  try {
    return parseArgs({ ...config, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${reasonOf(error)}. Usage: npx framewright ${command.usage}`);
  }
}

/** What parseArgs says, as one sentence. */
function reasonOf(error: unknown): string {
  const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split(/\.\s/);
  const [, option] =
    /^Option '(?:-\w, )?(--[\w-]+).*' argument (?:missing|is ambiguous)$/.exec(sentence) ?? [];
  return option === undefined ? sentence : `${option} needs a value`;
}

/** The values of the options as texts. The value of a given flag is `yes`. */
function textsOf(values: Record<string, string | boolean | undefined>): Arguments['options'] {
  const texts = Object.entries(values).map(([name, value]) => [
    name,
    value === true ? 'yes' : value,
  ]);
  return Object.fromEntries(texts);
}
