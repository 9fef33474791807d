import { runSimulator } from '../kit/run.ts';
import { simulateComfyui } from './comfyui.ts';

await runSimulator('comfyui', simulateComfyui);
