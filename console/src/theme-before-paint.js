// Runs before the first paint; see vite-settings.ts. shell/theme.tsx writes this value.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is disabled: the system's theme applies.
}

// The accent colour of the operator's brand.
const meta = document.querySelector('meta[name=brand]');
for (const [token, value] of Object.entries(JSON.parse(meta?.content ?? '{}').tokens ?? {})) {
  document.documentElement.style.setProperty(token, value);
}

// Content that scripts fold later is folded from the first paint, so that the text does not shift.
document.documentElement.classList.add('scripted');
