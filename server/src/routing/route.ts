import type { Mode, Resolution } from '../catalog/models.ts';
import type { GenerationRequest } from '../catalog/request.ts';

/** A connection that takes tasks of a model, with the conditions for those tasks. */
export interface RouteStep {
  connection: string;
  /** The provider's own id of the model; if left out, the adapter uses the one that it knows. */
  model_id?: string;
  /** For a route that chooses by weights; 1 if left out. */
  weight?: number;
  /** A canary: this percentage of tasks begins here, at random; all, if no other step can serve. */
  share?: number;
  modes?: Mode[];
  resolutions?: Resolution[];
  /** The shortest and longest output, in whole seconds. */
  seconds?: { min: number; max: number };
}

/**
 * `order`: the first step that takes jobs. `weights`: a step drawn at random for each task.
 * `price`: the cheapest for the request. `time`: the one whose jobs were the fastest of late.
 */
export const CHOICES = ['order', 'weights', 'price', 'time'] as const;

export interface Route {
  choice: (typeof CHOICES)[number];
  steps: RouteStep[];
}

/** A step, and why it has this place in the order, unless the route alone decides it. */
export interface Chosen extends RouteStep {
  reason?: string;
}

/** What decides between steps, for one request. */
interface ChoiceDeps {
  /** Whether the connection exists and its adapter can make the video. */
  canServe(step: RouteStep): boolean;
  /** undefined if the step has no terms. */
  costOf(step: RouteStep): { amount: number; currency: string } | undefined;
  /** How long the step's jobs took of late; undefined if it had none. */
  secondsOf(step: RouteStep): number | undefined;
  /** 0 (included) to 1, as Math.random. */
  random(): number;
}

/** The steps that can make the video, in the order in which they are tried; may be empty. */
export function stepsFor(
  { choice, steps }: Route,
  request: GenerationRequest,
  deps: ChoiceDeps,
): Chosen[] {
  const able = steps.filter((step) => meets(step, request) && deps.canServe(step));
  const regular = able.filter(({ share }) => share === undefined);
  if (regular.length === 0) return able; // canaries alone take all tasks
  const canaries = able.flatMap((step): Chosen[] => {
    const { share, connection } = step;
    if (share === undefined || deps.random() * 100 >= share) return [];
    return [{ ...step, reason: `canary: ${share} % at ${connection}` }];
  });
  return [...canaries, ...arrange(choice, regular, deps)];
}

/** A choice that only a newer program knows counts as `order`. */
function arrange(choice: Route['choice'], steps: RouteStep[], deps: ChoiceDeps): Chosen[] {
  if (choice === 'weights') return shuffleByWeight(steps, deps.random);
  if (choice === 'price') return rankByPrice(steps, deps);
  if (choice === 'time') return rankByTime(steps, deps);
  return steps;
}

/** Amounts are compared in the currency of the first step that has terms. */
function rankByPrice(steps: RouteStep[], { costOf }: ChoiceDeps): Chosen[] {
  const currency = steps.map(costOf).find((cost) => cost !== undefined)?.currency;
  return rank('price', steps, (step) => {
    const cost = costOf(step);
    const figure = cost?.currency === currency ? cost?.amount : undefined;
    return { figure, text: cost && `${cost.amount} ${cost.currency.toUpperCase()}` };
  });
}

function rankByTime(steps: RouteStep[], { secondsOf }: ChoiceDeps): Chosen[] {
  return rank('time', steps, (step) => {
    const figure = secondsOf(step);
    return { figure, text: figure === undefined ? figure : `p50 ${Math.round(figure)} s` };
  });
}

/** The lowest figure first. Steps without a figure are last; equal ones stay as listed. */
function rank(
  choice: Route['choice'],
  steps: RouteStep[],
  estimateOf: (step: RouteStep) => { figure: number | undefined; text: string | undefined },
): Chosen[] {
  return steps
    .map((step) => ({ step, ...estimateOf(step) }))
    .sort((a, b) => (a.figure ?? Number.MAX_VALUE) - (b.figure ?? Number.MAX_VALUE))
    .map(({ step, text = 'unknown' }) => {
      return { ...step, reason: `${choice}: ${text} at ${step.connection}` };
    });
}

/** In routes by time, this share of tasks begins elsewhere: a slow connection may have improved. */
const EXPLORED_SHARE = 1 / 50;

/** Sometimes puts another step before the first one, unless that is a canary. */
export function explore(chosen: Chosen[], random: () => number): Chosen[] {
  const [first, ...others] = chosen;
  if (first?.share !== undefined || random() >= EXPLORED_SHARE) return chosen;
  const explored = others[Math.floor(random() * others.length)];
  if (!explored) return chosen;
  const reason = `${explored.reason}, explored`;
  return [{ ...explored, reason }, ...chosen.filter((step) => step !== explored)];
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

/**
 * Of the steps left, each comes next with a chance in proportion to its weight: each draws an
 * exponentially distributed time whose rate is its weight, and the earliest is first.
 */
function shuffleByWeight(steps: RouteStep[], random: () => number): RouteStep[] {
  return steps
    .map((step) => ({ step, at: -Math.log(1 - random()) / (step.weight ?? 1) }))
    .sort((a, b) => a.at - b.at)
    .map(({ step }) => step);
}
