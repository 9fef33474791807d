import { ALL_DURATIONS } from './catalog.ts';
import { ASPECT_RATIOS, type Mode, REQUEST_RATIOS, RESOLUTIONS } from './models.ts';
import { type Dropped, NAME_SHAPE, withinContract } from './set-model.ts';

/** A model in a provider's own list. The texts are the provider's. */
export interface VendorModel {
  /** The provider's id, as a route names it: `owner/name`. */
  id: string;
  title: string;
  modes: readonly Mode[];
  resolutions: readonly string[];
  /** Whole seconds. */
  durations: readonly number[];
  aspectRatios: readonly string[];
  sound: boolean;
  seed: boolean;
  /** What the provider charges, in its own units. */
  prices: Record<string, unknown>;
  /** Fields of a request that it does not take although its modes have them. */
  lacks: readonly string[];
}

/** A model as the catalog could have it. Only an operator can price it. */
export interface ProposedModel {
  name: string;
  title: string;
  modes: readonly string[];
  resolutions: readonly string[];
  durations: readonly number[];
  aspectRatios: readonly string[];
  sound: boolean;
  seed: boolean;
  dropped: Dropped;
}

/** Reduces a provider's model to what the contract allows. @returns why, if nothing is left */
export function proposeModel(vendor: VendorModel, name: string): ProposedModel | string {
  const dropped: Dropped = {};
  const { title, modes, sound, seed } = vendor;
  const resolutions = withinContract('resolutions', vendor.resolutions, RESOLUTIONS, dropped);
  const durations = withinContract('durations', vendor.durations, ALL_DURATIONS, dropped);
  const ratios = withinContract('aspect_ratios', vendor.aspectRatios, ASPECT_RATIOS, dropped);
  const missing = Object.entries({ modes, resolutions, durations, aspect_ratios: ratios })
    .filter(([, values]) => values.length === 0)
    .map(([field]) => field);
  if (missing.length > 0) return `none of the API's ${missing.join(', ')}`;
  // The service resolves `adaptive` itself, to any of the others.
  const aspectRatios = ratios.length === ASPECT_RATIOS.length ? [...REQUEST_RATIOS] : ratios;
  return { name, title, modes, resolutions, durations, aspectRatios, sound, seed, dropped };
}

/**
 * Names for the models of a list: the last part of each id, or the whole id if another model of the
 * list or one of `reserved` has that name. An id that can't become a name gets undefined.
 */
export function proposedNames(
  ids: readonly string[],
  reserved: readonly string[],
): (string | undefined)[] {
  const shortNames = ids.map((id) => nameFrom(id.split('/').at(-1) ?? ''));
  return ids.map((id, i) => {
    const short = shortNames[i] ?? '';
    const isUnique = shortNames.filter((name) => name === short).length === 1;
    const name = isUnique && !reserved.includes(short) ? short : nameFrom(id);
    return NAME_SHAPE.test(name) && !reserved.includes(name) ? name : undefined;
  });
}

function nameFrom(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 63);
}
