/** A filter and its options. */
export type Step = readonly [name: string, options: Record<string, string | number>];

/**
 * The filters that turn a picture upright. Cameras store the rows of the sensor and a display
 * matrix; mirrored matrices come from front cameras.
 * Source: FFmpeg's `libavutil/display.h` and the autorotation of its `ffmpeg` program.
 */
export function uprightSteps(displayMatrix: Buffer | null): Step[] {
  if (!displayMatrix || displayMatrix.length < 36) return [];
  const [a, b, c, d] = [
    at(displayMatrix, 0),
    at(displayMatrix, 1),
    at(displayMatrix, 3),
    at(displayMatrix, 4),
  ];
  const degrees = quarterTurns(a, b, c, d) * 90;
  if (degrees === 90) return [['transpose', { dir: c > 0 ? 'cclock_flip' : 'clock' }]];
  if (degrees === 270) return [['transpose', { dir: c < 0 ? 'clock_flip' : 'cclock' }]];
  const mirrored: Step[] = degrees === 180 && a < 0 ? [['hflip', {}]] : [];
  return d < 0 ? [...mirrored, ['vflip', {}]] : mirrored;
}

/** Whether the filters swap width and height. */
export function swapsSides(steps: Step[]): boolean {
  return steps.some(([name]) => name === 'transpose');
}

function at(matrix: Buffer, index: number): number {
  return matrix.readInt32LE(index * 4);
}

function quarterTurns(a: number, b: number, c: number, d: number): number {
  const along = Math.hypot(a, c);
  const across = Math.hypot(b, d);
  if (along === 0 || across === 0) return 0;
  const turns = Math.round(Math.atan2(b / across, a / along) / (Math.PI / 2));
  return (turns + 4) % 4;
}
