/** The darkest surface of the light theme, and the lightest of the dark one (styles/tokens.css). */
const SURFACES = { light: '#e5edea', dark: '#101a17' };
const BLACK = '#000000';
const WHITE = '#ffffff';
/** Mixed with this, a colour gains contrast in the theme. */
const AWAY = { light: BLACK, dark: WHITE };

/** The least contrast of controls and of text (WCAG 2.2, 1.4.11 and 1.4.3). */
const CONTROL_RATIO = 3;
const TEXT_RATIO = 4.5;

/** The accent marks chosen options and the current page, so it must be seen in both themes. */
export function checkColor(given: string, refuse: (bound: string) => never): string {
  const color = given.toLowerCase();
  if (!/^#[0-9a-f]{6}$/.test(color)) refuse('must be a colour such as #1a6fd4');
  for (const theme of ['light', 'dark'] as const) {
    const ratio = contrast(color, SURFACES[theme]);
    if (ratio >= CONTROL_RATIO) continue;
    refuse(
      `must have a contrast of ${CONTROL_RATIO}:1 in both themes: ${color} has ` +
        `${(Math.floor(ratio * 10) / 10).toFixed(1)}:1 in the ${theme} one, ` +
        `${readable(color, theme, CONTROL_RATIO)} would do`,
    );
  }
  return color;
}

/** The tokens that an accent colour replaces, as CSS. */
export function accentTokens(color: string): Record<string, string> {
  const isDark = contrast(color, WHITE) >= TEXT_RATIO;
  const [text, lit] = isDark ? [WHITE, BLACK] : [BLACK, WHITE];
  const [onLight, onDark] = (['light', 'dark'] as const).map((theme) =>
    readable(color, theme, TEXT_RATIO),
  );
  return {
    '--color-tungsten': color,
    '--color-tungsten-lit': mix(color, lit, 0.12),
    '--color-on-tungsten': text,
    '--color-print': `light-dark(${onLight}, ${onDark})`,
    '--color-focus': color,
  };
}

/** The colour, or the nearest shade of it that has this contrast in a theme. */
function readable(color: string, theme: 'light' | 'dark', ratio: number): string {
  const shades = Array.from({ length: 101 }, (_, i) => mix(color, AWAY[theme], i / 100));
  return shades.find((shade) => contrast(shade, SURFACES[theme]) >= ratio) ?? AWAY[theme];
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}

function mix(color: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(color).map((value, i) =>
    Math.round(value + ((others[i] ?? 0) - value) * share),
  );
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** The contrast ratio of WCAG 2.2. */
function contrast(first: string, second: string): number {
  const [dark = 0, light = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
