import { spawn } from 'node:child_process';
import { once } from 'node:events';

// `npm run check`: lint, types and unused code, all at once. One thread for the types takes half the
// CPU time of several, which check what they share once each.
const TYPES = ['--noEmit', '--singleThreaded'];
const CHECKS: [program: string, ...args: string[]][] = [
  ['biome', 'check', '.'],
  ['tsc', ...TYPES],
  ['tsc', '-p', 'console', ...TYPES],
  ['knip'],
  ['node', 'clients/packing/pack.ts'], // the types that packages export are written file by file
];

// npm puts the programs of node_modules into PATH.
const statuses = await Promise.all(
  CHECKS.map(async ([program, ...args]) => {
    const [status] = await once(spawn(program, args, { stdio: 'inherit' }), 'exit');
    return status;
  }),
);
process.exitCode = statuses.every((status) => status === 0) ? 0 : 1;
