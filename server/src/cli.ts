#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { COMMANDS, type Command } from './commands.ts';
import { type Config, readConfig } from './config.ts';
import { UsageError } from './kernel/errors.ts';
import { createLog } from './kernel/log.ts';
import { openConfiguredDatabase } from './main.ts';
import { printPlain } from './print.ts';
import { serve } from './serve.ts';

const HELP = `framewright: asynchronous video generation, paid with prepaid credits

Usage: npx framewright COMMAND [--json]

  serve
      Run the service (what npm start does); Ctrl-C stops it after its work is drained
${COMMANDS.map((command) => `  ${command.usage}\n      ${command.summary}`).join('\n')}
  migrate
      Bring the database's schema up to date (serve and every command do so too)

ACCOUNT is an account id or an e-mail address. --json prints one JSON value on standard output.
The commands work beside a running service and read the same variables: DATA_DIR (./.data),
DATABASE_URL (the embedded database under DATA_DIR). All variables are listed in README.md.

Example:
  npx framewright accounts create ada@example.com
  npx framewright credits grant ada@example.com 1000 --kind paid --reference invoice-1
  npx framewright keys create ada@example.com
`;

interface Parsed {
  command: Command;
  words: string[];
  options: Record<string, string | undefined>;
  json: boolean;
}

/** How a usage begins: its words in lower case. */
function nameOf(command: Command): string[] {
  return command.usage.split(' ').filter((word) => /^[a-z]+$/.test(word));
}

function wordsWanted(command: Command): string[] {
  const beforeOptions = command.usage.split(/ \[?--/)[0] ?? '';
  return beforeOptions.split(' ').slice(nameOf(command).length);
}

function findCommand(args: string[]): Command {
  const found = COMMANDS.find((command) => nameOf(command).every((word, i) => args[i] === word));
  if (found) return found;
  const given = args.filter((arg) => !arg.startsWith('-')).join(' ');
  throw new UsageError(`there is no command "${given}". Try: npx framewright --help`);
}

function parse(args: string[]): Parsed {
  const command = findCommand(args);
  const rest = args.slice(nameOf(command).length);
  const names = command.options.map((name) => [name, { type: 'string' }] as const);
  const { values, positionals } = parseStrictly(command, {
    // A negative number is a word here, not an option: it goes behind the "--" that parseArgs knows.
    args: [
      ...rest.filter((arg) => !/^-\d+$/.test(arg)),
      '--',
      ...rest.filter((arg) => /^-\d+$/.test(arg)),
    ],
    options: { ...Object.fromEntries(names), json: { type: 'boolean' } },
  });
  const { json, ...options } = values;
  const wanted = wordsWanted(command);
  if (positionals.length !== wanted.length) {
    throw new UsageError(`usage: npx framewright ${command.usage}`);
  }
  return {
    command,
    words: positionals,
    options: options as Parsed['options'],
    json: json === true,
  };
}

type ParseConfig = { args: string[]; options: Record<string, { type: 'string' | 'boolean' }> };

function parseStrictly(command: Command, config: ParseConfig) {
  try {
    return parseArgs({ ...config, allowPositionals: true, strict: true });
  } catch (error) {
    const why = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new UsageError(`${why}. Usage: npx framewright ${command.usage}`);
  }
}

async function runCommand(config: Config, parsed: Parsed): Promise<number> {
  const opened = await openConfiguredDatabase(config, createLog({ level: 'silent' }));
  try {
    const { command, words, options, json } = parsed;
    const result = await command.run(opened.db, { words, options });
    process.stdout.write(json ? `${JSON.stringify(result)}\n` : printPlain(result));
    const failed = typeof result === 'object' && result !== null && 'ok' in result && !result.ok;
    return failed ? 1 : 0;
  } finally {
    await opened.close();
  }
}

async function migrateOnly(config: Config): Promise<number> {
  const opened = await openConfiguredDatabase(config, createLog({ level: 'silent' }));
  await opened.close();
  process.stdout.write('The database is up to date.\n');
  return 0;
}

async function run(args: string[]): Promise<number> {
  const [first] = args;
  if (first === undefined || first === 'help' || args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP);
    return first === undefined ? 2 : 0;
  }
  if (first === 'serve') return serve(readConfig(process.env));
  if (first === 'migrate') return migrateOnly(readConfig(process.env));
  const parsed = parse(args);
  return runCommand(readConfig(process.env), parsed);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof UsageError;
  const text = isUsage ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`framewright: ${text}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
