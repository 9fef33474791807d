import { runSimulator } from '../kit/run.ts';
import { simulateFal } from './fal.ts';

await runSimulator('fal', simulateFal);
