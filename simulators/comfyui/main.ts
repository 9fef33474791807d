import { runSimulator } from '../kit/server.ts';
import { simulateComfyui } from './comfyui.ts';

await runSimulator('comfyui', simulateComfyui);
