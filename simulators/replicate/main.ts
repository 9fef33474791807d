import { runSimulator } from '../kit/run.ts';
import { simulateReplicate } from './replicate.ts';

await runSimulator('replicate', simulateReplicate);
