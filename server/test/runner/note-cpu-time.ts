import path from 'node:path';
import { noteCpuTime } from './cpu-time.ts';

// Loaded before a test file that has a process of its own.
process.on('exit', () => noteCpuTime(path.relative('', process.argv[1] ?? '')));
