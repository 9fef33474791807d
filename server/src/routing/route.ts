import type { Mode, Resolution } from '../catalog/models.ts';
import type { GenerationRequest } from '../catalog/request.ts';

/** A connection that takes tasks of a model, and which of them. */
export interface RouteStep {
  connection: string;
  /** The provider's own id of the model; if left out, the adapter uses the one that it knows. */
  model_id?: string;
  /** For a route that chooses by weights; 1 if left out. */
  weight?: number;
  /** A canary: this percentage of tasks begins here, at random; others only as a last resort. */
  share?: number;
  modes?: Mode[];
  resolutions?: Resolution[];
  /** The shortest and longest output, in whole seconds. */
  seconds?: { min: number; max: number };
}

/** `order`: the first step that takes jobs. `weights`: a step drawn at random for each task. */
export interface Route {
  choice: 'order' | 'weights';
  steps: RouteStep[];
}

/**
 * The steps that can make the video, in the order in which they are tried; may be empty.
 * @param deps.canServe whether the connection exists and its adapter can make the video
 * @param deps.random 0 (included) to 1, as Math.random
 */
export function stepsFor(
  { choice, steps }: Route,
  request: GenerationRequest,
  deps: { canServe(step: RouteStep): boolean; random(): number },
): RouteStep[] {
  const able = steps.filter((step) => meets(step, request) && deps.canServe(step));
  const regular = able.filter(({ share }) => share === undefined);
  if (regular.length === 0) return able; // canaries alone take all tasks
  const canaries = able.filter(({ share }) => share !== undefined && deps.random() * 100 < share);
  return [
    ...canaries,
    ...(choice === 'weights' ? shuffledByWeight(regular, deps.random) : regular),
  ];
}

/** Whether a request meets the conditions of a step. */
export function meets(
  { modes, resolutions, seconds }: RouteStep,
  request: GenerationRequest,
): boolean {
  const { mode, resolution, duration } = request;
  return (
    (modes?.includes(mode) ?? true) &&
    (resolutions?.includes(resolution) ?? true) &&
    (seconds === undefined || (duration >= seconds.min && duration <= seconds.max))
  );
}

/** Shuffles steps: at each place, the chance of a remaining step is in proportion to its weight. */
function shuffledByWeight(steps: RouteStep[], random: () => number): RouteStep[] {
  return steps
    .map((step) => ({ step, at: -Math.log(1 - random()) / (step.weight ?? 1) }))
    .sort((a, b) => a.at - b.at)
    .map(({ step }) => step);
}
