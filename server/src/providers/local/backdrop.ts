import type { FrameSize } from '../../catalog/frame-size.ts';
import type { Light, Look } from './look.ts';

const LONG_SIDE = 96;
const MOST = 65535;

/**
 * The size the backdrop is drawn at: it is soft, so a small one scaled up looks the same. A
 * multiple of 8, because FFmpeg's scaler takes colour from pairs of pixels, also past the edge.
 */
export function backdropSize(frame: FrameSize): FrameSize {
  const scale = LONG_SIDE / Math.max(frame.width, frame.height);
  const rounded = (length: number) => 8 * Math.round((length * scale) / 8);
  return { width: rounded(frame.width), height: rounded(frame.height) };
}

/**
 * Draws the drifting lights at one moment as packed 16-bit RGB, little endian, rows top to bottom.
 * 16 bits, because 8 would show as steps once scaled up.
 */
export function drawBackdrop(look: Look, size: FrameSize, atSeconds: number): Buffer {
  const pixels = new Uint16Array(size.width * size.height * 3);
  const lights = look.lights.map((light) => ({ ...light, at: whereIs(light, atSeconds) }));
  const aspect = size.width / size.height;
  for (let row = 0, offset = 0; row < size.height; row++) {
    const y = (row + 0.5) / size.height;
    for (let column = 0; column < size.width; column++, offset += 3) {
      paint(pixels, offset, look.ground, lights, (column + 0.5) / size.width, y, aspect);
    }
  }
  return Buffer.from(pixels.buffer);
}

function whereIs(light: Light, atSeconds: number) {
  const turn = 2 * Math.PI * (light.phase + light.turnsPerSecond * atSeconds);
  return {
    x: light.home.x + light.drift.x * Math.cos(turn),
    y: light.home.y + light.drift.y * Math.sin(turn),
  };
}

type PlacedLight = Light & { at: { x: number; y: number } };

function paint(
  pixels: Uint16Array,
  offset: number,
  ground: Look['ground'],
  lights: PlacedLight[],
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
  pixels[offset] = red * MOST;
  pixels[offset + 1] = green * MOST;
  pixels[offset + 2] = blue * MOST;
}
