import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { serviceEnvironment } from './service-process.ts';

const CLI = new URL('../../src/framewright.ts', import.meta.url).pathname;

/** The exit code of a command line, and what it wrote. */
export interface Run {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line in its own process. */
export async function run(env: Record<string, string>, ...args: string[]): Promise<Run> {
  const child = spawn(process.execPath, [CLI, ...args], { env: serviceEnvironment(env) });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, out, err };
}

export type Members = Record<string, unknown>;

/** Runs a command with --json, checks its exit code and returns the value that it printed. */
export async function ask(env: Record<string, string>, line: string, code = 0): Promise<Members> {
  const done = await run(env, ...line.split(' '), '--json');
  assert.equal(done.code, code, `${line}: ${done.err}`);
  assert.equal(done.err, '');
  assert.ok(done.out.endsWith('\n') && done.out.trimEnd().split('\n').length === 1, done.out);
  return JSON.parse(done.out);
}
