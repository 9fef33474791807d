import { DURATION_SECONDS } from '../catalog/limits.ts';
import { MODES, RESOLUTIONS } from '../catalog/models.ts';
import type { RouteStep } from './route.ts';

type Refuse = (bound: string) => never;
type Options = Omit<RouteStep, 'connection'>;

/** No part may be dots alone, such as `..`: in a URL it would lead to another path. */
const MODEL_ID = /^(?!.*(?:^|\/)\.+(?:\/|$))[\w.:-]+(\/[\w.:-]+)*$/;

/** Reads the text of each option of a step. */
const OPTIONS: Record<string, (text: string, refuse: Refuse) => Options> = {
  model: (text, refuse) => (MODEL_ID.test(text) ? { model_id: text } : refuse('model=owner/name')),
  weight: (text, refuse) => ({ weight: numberIn(text, 1, 1000) ?? refuse('weight=1 to 1000') }),
  share: (text, refuse) => ({ share: numberIn(text, 0.1, 100) ?? refuse('share=0.1 to 100') }),
  modes: (text, refuse) => ({ modes: listOf(MODES, text) ?? refuse(`modes=${MODES.join(',')}`) }),
  resolutions: (text, refuse) => ({
    resolutions: listOf(RESOLUTIONS, text) ?? refuse(`resolutions=${RESOLUTIONS.join(',')}`),
  }),
  seconds: (text, refuse) => ({ seconds: rangeOf(text) ?? refuse('seconds=4-15') }),
};

/**
 * Reads the steps of a route as an operator writes them: `ark-eu; fal-2 model=owner/name weight=2`.
 * @param refuse throws an error that says what is expected
 */
export function parseSteps(text: string, refuse: Refuse): RouteStep[] {
  const steps = text.split(';').map((part): RouteStep => {
    const [connection = '', ...options] = part.trim().split(/\s+/);
    if (!/^[a-z][a-z0-9-]{0,30}$/.test(connection)) {
      refuse('must be steps with the name of a connection each, separated by ";"');
    }
    const refuseOption = (bound: string) => refuse(`must have ${bound} for ${connection}`);
    const names = options.map((option) => option.split('=')[0]);
    const repeated = names.find((name, i) => names.indexOf(name) !== i);
    if (repeated !== undefined) refuseOption(`${repeated} once`);
    const read = options.map((option) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(option) ?? [];
      const readValue = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
      if (readValue) return readValue(value, refuseOption);
      return refuseOption(`only the options ${Object.keys(OPTIONS).join(', ')}`);
    });
    return Object.assign({ connection }, ...read);
  });
  const twice = steps.find((step, i) => steps.slice(0, i).some((other) => overlap(step, other)));
  if (twice) {
    refuse(
      `must name ${twice.connection} twice only for different modes, resolutions or seconds: a ` +
        'task records its connection, not its step',
    );
  }
  return steps;
}

/** Whether one request can meet the conditions of two steps of the same connection. */
function overlap(a: RouteStep, b: RouteStep): boolean {
  if (a.connection !== b.connection) return false;
  const { min, max } = a.seconds ?? DURATION_SECONDS;
  const other = b.seconds ?? DURATION_SECONDS;
  return (
    haveCommon(a.modes ?? MODES, b.modes ?? MODES) &&
    haveCommon(a.resolutions ?? RESOLUTIONS, b.resolutions ?? RESOLUTIONS) &&
    min <= other.max &&
    other.min <= max
  );
}

function haveCommon<Item>(a: readonly Item[], b: readonly Item[]): boolean {
  return a.some((item) => b.includes(item));
}

/** The steps as {@link parseSteps} reads them. */
export function formatSteps(steps: RouteStep[]): string {
  return steps.map(formatStep).join('; ');
}

function formatStep({ connection, model_id, seconds, ...step }: RouteStep): string {
  const options = {
    model: model_id,
    weight: step.weight,
    share: step.share,
    modes: step.modes,
    resolutions: step.resolutions,
    seconds: seconds && `${seconds.min}-${seconds.max}`,
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return [connection, ...given.map(([name, value]) => `${name}=${value}`)].join(' ');
}

function numberIn(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function listOf<Item extends string>(items: readonly Item[], text: string): Item[] | undefined {
  const given = new Set(text.split(','));
  const chosen = items.filter((item) => given.has(item));
  return chosen.length === given.size ? chosen : undefined;
}

function rangeOf(text: string): RouteStep['seconds'] | undefined {
  const [, min, max] = (/^(\d{1,2})-(\d{1,2})$/.exec(text) ?? []).map(Number);
  if (min === undefined || max === undefined || min > max) return undefined;
  const isIn = min >= DURATION_SECONDS.min && max <= DURATION_SECONDS.max;
  return isIn ? { min, max } : undefined;
}
