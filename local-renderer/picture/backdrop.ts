import type { FrameSize } from '../frame-size.ts';
import type { Light, Look } from '../look.ts';

const LONG_SIDE = 96;
const MAX_CHANNEL = 65535;

/**
 * The size at which the backdrop is drawn. A backdrop has no sharp edges, so a small one that is
 * scaled up looks the same. Width and height are multiples of 8, because FFmpeg's scaler reads
 * colour from pairs of pixels, also past the edge.
 */
export function backdropSize(frame: FrameSize): FrameSize {
  const scale = LONG_SIDE / Math.max(frame.width, frame.height);
  const rounded = (length: number) => 8 * Math.round((length * scale) / 8);
  return { width: rounded(frame.width), height: rounded(frame.height) };
}

/**
 * Draws the drifting lights at one moment as packed 16-bit RGB, little endian, rows top to bottom.
 * 16 bits, because 8 bits would show visible steps after scaling.
 */
export function drawBackdrop(look: Look, size: FrameSize, atSeconds: number): Buffer {
  const pixels = new Uint16Array(size.width * size.height * 3);
  const lights = look.lights.map((light) => ({ ...light, at: positionOf(light, atSeconds) }));
  const aspect = size.width / size.height;
  for (let row = 0, offset = 0; row < size.height; row++) {
    const y = (row + 0.5) / size.height;
    for (let column = 0; column < size.width; column++, offset += 3) {
      paint(pixels, offset, look.ground, lights, (column + 0.5) / size.width, y, aspect);
    }
  }
  return Buffer.from(pixels.buffer);
}

function positionOf(light: Light, atSeconds: number) {
  const turn = 2 * Math.PI * (light.phase + light.turnsPerSecond * atSeconds);
  return {
    x: light.centre.x + light.drift.x * Math.cos(turn),
    y: light.centre.y + light.drift.y * Math.sin(turn),
  };
}

type PositionedLight = Light & { at: { x: number; y: number } };

function paint(
  pixels: Uint16Array,
  offset: number,
  ground: Look['ground'],
  lights: PositionedLight[],
  x: number,
  y: number,
  aspect: number,
): void {
  let [red, green, blue] = ground;
  for (const light of lights) {
    const across = (x - light.at.x) * Math.sqrt(aspect);
    const down = (y - light.at.y) / Math.sqrt(aspect);
    const weight = 0.9 * Math.exp(-(across * across + down * down) / (light.radius * light.radius));
    red += (light.colour[0] - red) * weight;
    green += (light.colour[1] - green) * weight;
    blue += (light.colour[2] - blue) * weight;
  }
  pixels[offset] = red * MAX_CHANNEL;
  pixels[offset + 1] = green * MAX_CHANNEL;
  pixels[offset + 2] = blue * MAX_CHANNEL;
}
