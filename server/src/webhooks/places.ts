import { type EndpointPlace, type LeasedEndpoint, SLOW_MS } from './claim.ts';

/** How many endpoints of each kind a process delivers to at once. */
const PLACES: Record<EndpointPlace, number> = { sound: 32, slow: 32, failing: 16 };
/** Slow places, with those that turns at sound endpoints take over. */
const MOST_SLOW = 64;

/**
 * The places of a process. A turn at a sound endpoint that takes long takes over a slow place while
 * there are some, so that endpoints which are slow for the first time delay the others no longer.
 * @param now milliseconds of a clock that never goes back
 */
export function openDeliveryPlaces(now: () => number) {
  const taken: Record<EndpointPlace, Map<string, number>> = {
    sound: new Map(),
    slow: new Map(),
    failing: new Map(),
  };
  const moveLong = () => {
    for (const [id, since] of taken.sound) {
      if (now() - since < SLOW_MS || taken.slow.size >= MOST_SLOW) break;
      taken.sound.delete(id);
      taken.slow.set(id, since);
    }
  };
  const left = (place: EndpointPlace) => Math.max(0, PLACES[place] - taken[place].size);
  return {
    /** How many endpoints of each kind may be claimed now. */
    free(): Record<EndpointPlace, number> {
      moveLong();
      return { sound: left('sound'), slow: left('slow'), failing: left('failing') };
    },
    /** @returns gives the place back, whichever it is by then */
    take({ id, place }: LeasedEndpoint): () => void {
      taken[place].set(id, now());
      return () => {
        for (const places of Object.values(taken)) places.delete(id);
      };
    },
  };
}
