import { ASPECT_RATIOS, type AspectRatio } from './models.ts';

/**
 * The listed ratio that is nearest to the ratio of a picture. The distance is the logarithm of the
 * quotient, so 2:1 and 1:2 are equally far from 1:1.
 */
export function nearestAspectRatio(width: number, height: number): AspectRatio {
  const distance = (ratio: AspectRatio) => {
    const [across = 1, down = 1] = ratio.split(':').map(Number);
    return Math.abs(Math.log(width / height) - Math.log(across / down));
  };
  return [...ASPECT_RATIOS].sort((a, b) => distance(a) - distance(b))[0] ?? '16:9';
}
