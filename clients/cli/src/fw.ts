#!/usr/bin/env node
import module from 'node:module';
import { argv, stderr, stdout } from 'node:process';
import { type Command, checkWords, parse } from './command.ts';
import { COMMANDS } from './commands.ts';
import { asFailure, Failure, failureJson, failureLines } from './failure.ts';
import { helpOf, overview, similarTo } from './help.ts';
import { watchSignals } from './terminal/interrupt.ts';
import { openScreen, styled } from './terminal/screen.ts';

/** Missing in Node 20. */
module.enableCompileCache?.();

async function main([name, ...args]: string[]): Promise<void> {
  if (name === '--version' || name === '-v') {
    return print((await import('@framewright/client')).VERSION);
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const named = COMMANDS.find((command) => command.name === args[0]);
    return print(named ? helpOf(named) : overview());
  }
  await runCommand(commandOf(name), args);
}

async function runCommand(command: Command, args: string[]): Promise<void> {
  const call = parse(command, args);
  if (call.flag('help')) return print(helpOf(command));
  checkWords(command, call.words);
  const screen = openScreen({ isJson: call.flag('json') });
  const run = await command.load();
  await run({ ...call, screen });
}

const print = (text: string) => void stdout.write(`${text}\n`);

/** @throws Failure `usage` */
function commandOf(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found) return found;
  const similar = similarTo(name);
  const next = similar ? `Did you mean fw ${similar}?` : 'fw --help lists the commands.';
  throw new Failure('usage', `There is no command ${name}.`, { next });
}

function fail(error: unknown): void {
  const failure = asFailure(error);
  process.exitCode = failure.exitCode;
  if (argv.includes('--json')) stderr.write(`${failureJson(failure)}\n`);
  else {
    const [first = '', ...rest] = failureLines(failure);
    const head = `fw: ${first}`;
    stderr.write(`${[styled('red', head, stderr), ...rest].join('\n    ')}\n`);
  }
}

/** A reader that closes the pipe, such as head, is not an error. */
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
watchSignals();
await main(argv.slice(2)).catch(fail);
