import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { BUDGET, CHAT, CHAT_PATH, PARALLEL, type Peer, requestText, served } from './peer.ts';
import { install, startPeer } from './start-peer.ts';

const VERSION = '1.106.2';
const PROGRAM = 'litellm/bin/litellm';
const KEY = 'sk-0123456789abcdef0123456789abcdef';
/** In dollars, from the numbers of the upstream: 1000 tokens each way. */
const PRICE = 0.002;

const configOf = (upstreamUrl: string, budget: string) => `
model_list:
  - model_name: gpt-3.5-turbo
    litellm_params:
      model: openai/gpt-3.5-turbo
      api_base: ${upstreamUrl}/v1
      api_key: none
      input_cost_per_token: 0.000001
      output_cost_per_token: 0.000001
  - model_name: sora-2
    litellm_params: { model: openai/sora-2, api_base: "${upstreamUrl}/v1", api_key: none }
general_settings:
  master_key: ${KEY}
litellm_settings:
  set_verbose: false
  json_logs: true
${budget}`;

/** The settings of its page on production: a worker per core, few logs. */
const ENV = {
  LITELLM_MODE: 'PRODUCTION',
  LITELLM_LOG: 'ERROR',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True', // the list of prices of its package: nothing is fetched
};

export const litellm: Peer = {
  name: 'LiteLLM proxy',
  version: VERSION,
  durable: 'nothing without its database',
  async install(folder) {
    if (existsSync(path.join(folder, PROGRAM))) return;
    await install('python3', ['-m', 'venv', 'litellm'], folder);
    const pip = path.join(folder, 'litellm/bin/pip');
    await install(pip, ['install', '-q', `litellm[proxy]==${VERSION}`], folder);
  },
  async start({ folder, upstreamUrl, port }) {
    const run = async (on: number, budget: string, workers: number) => {
      await writeFile(path.join(folder, `litellm-${on}.yaml`), configOf(upstreamUrl, budget));
      const program = path.join(folder, PROGRAM);
      const where = ['--host', '127.0.0.1', '--port', String(on), '--num_workers', String(workers)];
      return startPeer([program, '--config', `litellm-${on}.yaml`, ...where], {
        cwd: folder,
        env: ENV,
        url: `http://127.0.0.1:${on}/health/liveliness`,
      });
    };
    const running = await run(port, '', availableParallelism());
    const headers = { authorization: `Bearer ${KEY}` };
    const video = JSON.stringify({ model: 'sora-2', prompt: 'A lighthouse', seconds: '4' });
    return {
      ...running,
      requests: {
        read: requestText(port, '/v1/models', headers),
        create: requestText(port, '/v1/videos', headers, video),
      },
      // Budgets of keys need its database; the budget of the whole proxy is kept in memory.
      async overspend() {
        const budget = `  max_budget: ${PRICE * BUDGET}\n  budget_duration: 30d\n`;
        await using _limited = await run(port + 1, budget, 1);
        const url = `http://127.0.0.1:${port + 1}${CHAT_PATH}`;
        const first = await served(PARALLEL, url, CHAT, () => headers);
        const later = await served(BUDGET, url, CHAT, () => headers);
        return `${first} of ${PARALLEL} served on the budget of the whole proxy; of ${BUDGET} later ones ${later}`;
      },
    };
  },
};
