import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceEnvironment } from './service-process.ts';

const ROOT = new URL('../../../', import.meta.url);
const CLI = fileURLToPath(new URL('server/src/framewright.ts', ROOT));

/** The programs of a page in one language, in their order. */
function programsOf(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}(?: tab=\\S+)?\n(.*?)^\`\`\``, 'gms'));
  return [...blocks].map(([, program = '']) => program);
}

interface Walk {
  /** Where the commands run; it gets what the pages ask for. */
  folder: string;
  /** The service's address. */
  url: string;
  key: string;
  /** In place of the port on the page of webhooks. */
  receiverPort: number;
  /** The service's variables, for operator commands. */
  env: Record<string, string>;
}

/** The commands of pages for customers, as a user of this service would type them in one shell. */
export async function commandsOf(walk: Walk, pages: string[]): Promise<string> {
  const texts = pages.map((name) => readFile(new URL(`docs/customers/${name}`, ROOT), 'utf8'));
  const commands = (await Promise.all(texts)).flatMap((text) => programsOf(text, 'sh'));
  return commands
    .join('\n')
    .replace(/^export FRAMEWRIGHT_API_KEY=.*/m, `export FRAMEWRIGHT_API_KEY=${walk.key}`)
    .replaceAll('http://127.0.0.1:8080', walk.url)
    .replaceAll('localhost:8787', `localhost:${walk.receiverPort}`)
    .replaceAll('npx --no-install framewright', `node ${CLI}`);
}

/** Prepares the folder as the pages say. */
export async function prepareFolder({ folder, receiverPort }: Walk): Promise<void> {
  const page = await readFile(new URL('docs/customers/webhooks.md', ROOT), 'utf8');
  const [genuine = '', receiver = ''] = programsOf(page, 'js');
  const files = {
    'genuine.mjs': genuine,
    'receiver.mjs': receiver.replace('8787', `${receiverPort}`),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const picture = fileURLToPath(new URL('acceptance/media/picture.png', ROOT));
  await symlink(picture, path.join(folder, 'picture.png'));
}

/**
 * Runs commands in a shell that stops at the first one that fails.
 * @param isOver whether the output so far is all that is awaited; the shell's children end then
 */
export async function runCommands(
  { folder, env }: Walk,
  commands: string,
  isOver: (output: string) => boolean,
): Promise<string> {
  const PATH = `${path.dirname(process.execPath)}:${process.env.PATH}`;
  const shell = spawn('sh', ['-ec', commands], {
    cwd: folder,
    env: { ...serviceEnvironment(env), PATH },
    detached: true, // a group of its own, with what it has left running
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (part) => {
    output += part;
    if (isOver(output)) end();
  });
  const end = () => {
    if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGTERM');
  };
  await once(shell, 'close');
  return output;
}
