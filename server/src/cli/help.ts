import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';

const SERVE = {
  usage: 'serve',
  summary: 'Run the service (what npm start does); Ctrl-C drains it and shuts it down',
};

const NOTES = `
ACCOUNT is an account id or an e-mail address. --json prints one JSON value on standard output.
A command that changes something takes --reason TEXT, which some require, and --by NAME (who runs
it; by default the OS user and host). It is recorded, see actions list; running it twice changes
nothing. A list takes --limit N (100 rows, at most 1000) and --after CURSOR, for its next page.
The commands also work while a service runs. They read these of its variables: DATA_DIR (./.data),
DATABASE_URL (the embedded database under DATA_DIR), DATABASE_DIRECT_URL.
docs/operations/README.md lists all variables.
`;

const EXAMPLE = `
Example:
  npx framewright accounts create ada@example.com
  npx framewright credits grant ada@example.com 1000 --kind paid --reference invoice-1
  npx framewright keys create ada@example.com
`;

/**
 * The text of --help.
 * @param words the words beside --help. The first one chooses the commands that begin with it; if
 *   there are none, the text has all commands
 */
export function helpText([noun]: string[]): string {
  const all = [SERVE, ...COMMANDS];
  const chosen = all.filter(({ usage }) => usage.split(' ')[0] === noun);
  if (chosen.length === 0) {
    const title = 'framewright: asynchronous video generation, paid with prepaid credits';
    const usage = 'Usage: npx framewright COMMAND [--json]';
    const hint = 'npx framewright COMMAND --help shows one group of them, such as tasks --help.';
    return `${title}\n\n${usage}\n\n${listing(all)}\n\n${hint}\n${NOTES}${EXAMPLE}`;
  }
  return `Usage: npx framewright COMMAND [--json]\n\n${listing(chosen)}\n${NOTES}`;
}

function listing(commands: readonly Pick<Command, 'usage' | 'summary'>[]): string {
  return commands.map(({ usage, summary }) => `  ${usage}\n      ${summary}`).join('\n');
}
