import { simulateArk } from './ark/ark.ts';
import { simulateComfyui } from './comfyui/comfyui.ts';
import { simulateFal } from './fal/fal.ts';
import { runSimulator } from './kit/server.ts';
import { simulateOpenRouter } from './openrouter/openrouter.ts';
import { simulateReplicate } from './replicate/replicate.ts';

/** `provider.ts NAME [options]` */
const PROVIDERS: Record<string, () => Promise<void>> = {
  ark: () => runSimulator('ark', simulateArk),
  comfyui: () => runSimulator('comfyui', simulateComfyui),
  fal: () => runSimulator('fal', simulateFal),
  openrouter: () => runSimulator('openrouter', simulateOpenRouter),
  replicate: () => runSimulator('replicate', simulateReplicate),
};

const [name = ''] = process.argv.splice(2, 1);
const run = PROVIDERS[name];
if (!run) throw new Error(`name one of these: ${Object.keys(PROVIDERS).join(', ')}`);
await run();
