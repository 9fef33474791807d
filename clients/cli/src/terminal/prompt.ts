import { stderr, stdin } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { endBy } from './interrupt.ts';

export const canAsk = () => stdin.isTTY && stderr.isTTY;

/** Asks a question. Anything but y and yes is a no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await lineOf(`${question} [y/N] `, stderr));
}

/** Asks for hidden input; from a pipe, reads all of standard input. */
export async function askHidden(question: string): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).trim();
  stderr.write(question);
  const nowhere = new Writable({ write: (_bytes, _encoding, done) => done() });
  const line = await lineOf('', nowhere);
  stderr.write('\n');
  return line;
}

/** A line of the terminal, echoed to `output`; empty if the input ends. */
async function lineOf(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: stdin, output, terminal: true });
  lines.on('SIGINT', () => endBy('SIGINT'));
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  // In newer versions of Node, Ctrl-D rejects the question.
  const answer = await Promise.race([lines.question(question).catch(() => ''), ended]);
  lines.close();
  return answer.trim();
}
