import { stderr, stdin } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { endBy } from './interrupt.ts';

export const canAsk = () => stdin.isTTY && stderr.isTTY;

/** Asks a question. Anything but y and yes is a no. */
export async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  lines.on('SIGINT', () => endBy('SIGINT'));
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Asks for hidden input; from a pipe, reads all of standard input. */
export async function askHidden(question: string): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).trim();
  stderr.write(question);
  stdin.setRawMode(true).setEncoding('utf8').resume();
  try {
    return await hiddenLine();
  } finally {
    stdin.setRawMode(false).pause();
    stderr.write('\n');
  }
}

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ERASE = ['\x7f', '\b'];

function hiddenLine(): Promise<string> {
  let line = '';
  return new Promise((resolve) => {
    const end = () => {
      stdin.off('data', read);
      stdin.off('end', end);
      resolve(line.trim());
    };
    const read = (input: string) => {
      for (const character of input) {
        if (character === CTRL_C) {
          stdin.setRawMode(false);
          endBy('SIGINT');
        }
        if (character === '\r' || character === '\n' || character === CTRL_D) return end();
        line = ERASE.includes(character) ? line.slice(0, -1) : line + character;
      }
    };
    stdin.on('data', read).on('end', end);
  });
}
