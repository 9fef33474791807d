import { parseArgs } from 'node:util';
import { Failure } from './failure.ts';
import type { Screen } from './terminal/screen.ts';

export interface Option {
  kind: 'text' | 'integer' | 'flag';
  short?: string;
  isList?: true;
  /** The value's placeholder in the help. */
  value?: string;
  summary: string;
  values?: readonly string[];
  isFile?: true;
}

export type Example = readonly [line: string, meaning: string];

/** A command of `fw`, from which the help, completions and parser are built. */
export interface Command {
  name: string;
  summary: string;
  /** Its positional words, such as `PROMPT`, and how many it takes. */
  words?: { usage: string; min: number; max: number; isFile?: true; values?: readonly string[] };
  options: Record<string, Option>;
  examples: readonly Example[];
  notes?: string;
  /** Loads its code only when it runs, so that `fw` starts fast. */
  load(): Promise<(call: Call) => Promise<void>>;
}

export interface Arguments {
  words: string[];
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
}

export interface Call extends Arguments {
  screen: Screen;
}

export const COMMON: Record<string, Option> = {
  json: { kind: 'flag', summary: 'print one JSON value, for programs' },
  help: { kind: 'flag', short: 'h', summary: 'explain this command' },
};

type Parsed = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** @throws Failure `usage` */
export function parse(command: Command, args: string[]): Arguments {
  const options = Object.entries({ ...COMMON, ...command.options }).map(([name, option]) => {
    const { kind, short, isList } = option;
    const type = kind === 'flag' ? ('boolean' as const) : ('string' as const);
    return [name, { type, multiple: isList === true, ...(short && { short }) }] as const;
  });
  try {
    const config = { args, options: Object.fromEntries(options), allowPositionals: true };
    const { values, positionals } = parseArgs(config);
    checkValues(command, values);
    return accessors(values, positionals);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw wrongUsage(command.name, error.message.split('. To specify')[0] ?? '');
  }
}

function wrongUsage(name: string, message: string): Failure {
  return new Failure('usage', message, { next: `fw ${name} --help explains the command.` });
}

/** @throws Failure `usage` for the wrong number of words */
export function checkWords({ name, words }: Command, given: string[]): void {
  const { usage, min, max } = words ?? { usage: '', min: 0, max: 0 };
  if (given.length < min) throw wrongUsage(name, `${usage} is missing.`);
  if (given.length > max) {
    const hint = max === 1 ? ' Put quotes around a text of several words.' : '';
    throw wrongUsage(name, `There are too many words: ${given.slice(max).join(' ')}.${hint}`);
  }
}

function checkValues({ name: command, options }: Command, values: Parsed): void {
  for (const [name, { kind, values: allowed }] of Object.entries(options)) {
    for (const value of [values[name] ?? []].flat()) {
      if (kind === 'integer' && !/^-?\d{1,15}$/.test(String(value)))
        throw wrongUsage(command, `--${name} takes a whole number, not "${value}".`);
      if (allowed && !allowed.includes(String(value)))
        throw wrongUsage(command, `--${name} takes ${allowed.join(', ')}; not "${value}".`);
    }
  }
}

function accessors(values: Parsed, words: string[]): Arguments {
  const text = (name: string) => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    words,
    text,
    integer: (name) => (text(name) === undefined ? undefined : Number(text(name))),
    texts: (name) => [values[name] ?? []].flat().map(String),
    flag: (name) => values[name] === true,
  };
}
