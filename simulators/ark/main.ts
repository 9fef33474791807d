import { runSimulator } from '../kit/run.ts';
import { simulateArk } from './ark.ts';

await runSimulator('ark', simulateArk);
