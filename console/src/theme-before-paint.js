// Runs before the first paint; see vite-settings.ts. The switch in ui/theme.tsx writes this value.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the theme of the system applies.
}
