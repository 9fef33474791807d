import { runSimulator } from '../kit/server.ts';
import { simulateArk } from './ark.ts';

await runSimulator('ark', simulateArk);
