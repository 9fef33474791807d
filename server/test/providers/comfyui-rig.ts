import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import {
  type ComfyuiDeps,
  type ComfyuiOptions,
  createComfyui,
} from '../../src/providers/comfyui/index.ts';
import type {
  Adapter,
  FindJobInput,
  JobSpec,
  ProviderInput,
} from '../../src/providers/provider.ts';
import { jobSpec } from './job-spec.ts';

const WORKFLOW = new URL('../../../simulators/comfyui/workflow.json', import.meta.url);

/** A simulated server in its own process, and the adapter for it. */
export interface Rig {
  readonly simulator: SimulatorProcess;
  readonly provider: Adapter;
  /** A second adapter for the same server, with other options. */
  providerWith(changes: Partial<ComfyuiOptions & ComfyuiDeps>): Promise<Adapter>;
  /**
   * Kills the server and starts it again at its address: it has lost its memory but not its record.
   */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRig(args: string[] = ['--job-seconds', '0']): Promise<Rig> {
  const folder = await mkdtemp(path.join(tmpdir(), 'comfyui-'));
  let simulator = await startSimulator('comfyui', folder, args);
  const { url } = simulator;
  const providers: Adapter[] = [];
  const providerWith: Rig['providerWith'] = async (changes) => {
    const provider = await comfyuiAt(url, changes);
    providers.push(provider);
    return provider;
  };
  const provider = await providerWith({});
  return {
    get simulator() {
      return simulator;
    },
    provider,
    providerWith,
    async restart() {
      await simulator.kill();
      simulator = await startSimulator('comfyui', folder, [...args, '--port', new URL(url).port]);
    },
    async stop() {
      await Promise.all(providers.map((one) => one.stop?.()));
      await simulator.kill();
      await rm(folder, { recursive: true });
    },
  };
}

/** An adapter for a server, which runs the usual workflow. */
export async function comfyuiAt(
  baseUrl: string,
  changes: Partial<ComfyuiOptions & ComfyuiDeps> = {},
): Promise<Adapter> {
  const all = {
    baseUrl,
    authorization: undefined,
    workflows: [{ name: 'workflow.json', text: await readFile(WORKFLOW, 'utf8') }],
    frameRules: { framesPerSecond: 24, frameStep: 1 },
    jobLimitSeconds: 3600,
    storage: {
      sizeOf: async () => undefined,
      open: async (objectId: string) => {
        throw new Error(`there is no ${objectId}`);
      },
    },
    submitTimeoutSeconds: 10,
    maxOutputBytes: 64 * 2 ** 20,
    nextListTurn: async () => {},
    now: Date.now,
    ...changes,
  };
  return createComfyui(all, all);
}

/** The usual workflow with one more node, which has these inputs. */
export async function workflowWith(classType: string, inputs: Record<string, unknown>) {
  const graph: unknown = JSON.parse(await readFile(WORKFLOW, 'utf8'));
  const node = { class_type: classType, inputs };
  const text = JSON.stringify(Object.assign({ '20': node }, graph));
  return { name: `workflow with ${classType}`, text };
}

let count = 0;

/** A different job spec at each call. */
export function jobSpecOf(inputs: ProviderInput[] = []): JobSpec {
  count += 1;
  const attemptId = `att_${process.pid}_${count}`;
  return jobSpec({
    attemptId,
    mode: inputs.length === 0 ? 'text-to-video' : 'image-to-video',
    model: 'video-2.0',
    prompt: `a cat, for ${attemptId}`,
    duration: 4,
    inputs,
    callbackUrl: `https://video.example.com/callbacks/${attemptId}`,
  });
}

/** What the host passes to a find of this job spec, sent so many seconds ago. */
export function agedFindInput(jobSpec: JobSpec, ageSeconds = 0): FindJobInput {
  const to = Date.now();
  const from = to - ageSeconds * 1000;
  return { jobSpec, sentBetween: { from, to }, takenJobIds: async () => new Set() };
}

/** Counts of the requests that the server got, and of its jobs for this prompt. */
export async function countsFor({ simulator }: Rig, jobSpec: JobSpec) {
  const [requests, jobs] = await Promise.all([simulator.requests(), simulator.jobs()]);
  return {
    posts: requests.filter(({ call }) => call === 'submit').length,
    uploads: requests.filter(({ call }) => call === 'upload').length,
    requests: requests.length,
    jobs: jobs.filter(({ prompt }) => prompt === jobSpec.prompt).length,
  };
}
