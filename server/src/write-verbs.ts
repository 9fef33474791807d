import { readFile, writeFile } from 'node:fs/promises';
import { verbTable } from './cli/help.ts';

// Writes the table of all verbs into docs/operators/commands.md.
const PAGE = new URL('../../docs/operators/commands.md', import.meta.url);
const [before = ''] = (await readFile(PAGE, 'utf8')).split(/(?<=\n## All commands\n)/);
await writeFile(PAGE, `${before}\n${await verbTable()}\n`);
