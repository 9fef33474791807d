import { runSimulator } from '../kit/server.ts';
import { simulateReplicate } from './replicate.ts';

await runSimulator('replicate', simulateReplicate);
