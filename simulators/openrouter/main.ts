import { runSimulator } from '../kit/server.ts';
import { simulateOpenRouter } from './openrouter.ts';

await runSimulator('openrouter', simulateOpenRouter);
