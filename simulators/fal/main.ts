import { runSimulator } from '../kit/server.ts';
import { simulateFal } from './fal.ts';

await runSimulator('fal', simulateFal);
