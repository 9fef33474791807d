import { frameSize } from '../../catalog/frame-size.ts';
import type { JobSpec, ProviderInput } from '../provider.ts';
import { promptIdOf } from './prompt-id.ts';
import type { Placeholder, Workflow } from './workflow.ts';

/** How the operator's model counts frames. */
export interface FrameRules {
  /** Frames per second of the video that the workflow saves. */
  framesPerSecond: number;
  /** The model makes lengths of `step * n + 1` frames: 4 for Wan, 8 for LTX; 1: any length. */
  frameStep: number;
}

/** A client's file and its name in templates. */
export interface NamedInput {
  name: string;
  input: ProviderInput;
}

/** Names a job spec's files: `first_frame`, `last_frame`, `reference_image_1`, ... */
export function namedInputs(inputs: ProviderInput[]): NamedInput[] {
  const counts = new Map<string, number>();
  return inputs.map((input) => {
    const { role } = input;
    if (role === 'first_frame' || role === 'last_frame') return { name: role, input };
    const count = (counts.get(role) ?? 0) + 1;
    counts.set(role, count);
    return { name: `${role}_${count}`, input };
  });
}

/**
 * The first workflow that takes exactly the files of the job spec. A workflow that takes fewer
 * would ignore a client's file without notice.
 */
export function workflowFor(workflows: Workflow[], inputs: NamedInput[]): Workflow | undefined {
  const given = new Set(inputs.map(({ name }) => name));
  return workflows.find(({ takesFiles }) => given.symmetricDifference(takesFiles).size === 0);
}

/** The values of all placeholders that are not files. */
export function plainValues(
  jobSpec: JobSpec,
  rules: FrameRules,
): Record<Placeholder, string | number | boolean> {
  const { width, height } = frameSize(jobSpec.resolution, jobSpec.aspectRatio);
  return {
    prompt: jobSpec.prompt,
    seed: jobSpec.seed,
    width,
    height,
    frames: frameCount(jobSpec.durationSeconds, rules),
    frames_per_second: rules.framesPerSecond,
    duration_seconds: jobSpec.durationSeconds,
    aspect_ratio: jobSpec.aspectRatio,
    resolution: jobSpec.resolution,
    generate_audio: jobSpec.generateAudio,
    model: jobSpec.model,
    mode: jobSpec.mode,
    job_id: promptIdOf(jobSpec.attemptId),
  };
}

/** The shortest length of the model that is not shorter than requested. */
function frameCount(durationSeconds: number, rules: FrameRules): number {
  const frames = Math.ceil(durationSeconds * rules.framesPerSecond);
  const { frameStep } = rules;
  return frameStep === 1 ? frames : Math.ceil((frames - 1) / frameStep) * frameStep + 1;
}
