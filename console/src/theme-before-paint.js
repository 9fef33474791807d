// Runs before the first paint; see vite-settings.ts. The switch in ui/theme.tsx writes this value.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the theme of the system applies.
}

// What scripts fold later is folded in the first paint too, so that the text does not move.
document.documentElement.classList.add('scripted');
