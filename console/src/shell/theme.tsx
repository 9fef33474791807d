import { useEffect, useState } from 'preact/hooks';
import { IconButton } from '../ui/button.tsx';

type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');

function shownTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return system.matches ? 'dark' : 'light';
}

/** Switches between dark and light. Choosing what the system has follows the system again. */
export function ThemeButton() {
  const [theme, setTheme] = useState(shownTheme);
  useEffect(() => {
    const update = () => setTheme(shownTheme());
    system.addEventListener('change', update);
    return () => system.removeEventListener('change', update);
  }, []);
  const next = theme === 'dark' ? 'light' : 'dark';
  const choose = () => {
    const isOfSystem = (next === 'dark') === system.matches;
    if (isOfSystem) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    remember(isOfSystem ? undefined : next);
    setTheme(next);
  };
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Use the ${next} theme`}
      onClick={choose}
    />
  );
}

function remember(theme: Theme | undefined): void {
  try {
    if (theme) localStorage.setItem('theme', theme);
    else localStorage.removeItem('theme');
  } catch {
    // Storage is switched off: the choice lasts until the page is left.
  }
}
