import { useState } from 'preact/hooks';
import { useListener } from '../load.ts';
import { ignoringErrors } from '../personal.ts';
import { IconButton } from '../ui/button.tsx';

type Theme = 'light' | 'dark';
/** `system` follows the system's theme. */
type ThemeChoice = Theme | 'system';

const system = matchMedia('(prefers-color-scheme: dark)');
const CHANGED = 'themechange';
const announceChange = () => dispatchEvent(new Event(CHANGED));
system.addEventListener('change', announceChange);

function chooseTheme(choice: ThemeChoice): void {
  if (choice === 'system') {
    delete document.documentElement.dataset.theme;
    ignoringErrors(() => localStorage.removeItem('theme'));
  } else {
    document.documentElement.dataset.theme = choice;
    ignoringErrors(() => localStorage.setItem('theme', choice));
  }
  announceChange();
}

export function useTheme(): [ThemeChoice, Theme, (choice: ThemeChoice) => void] {
  const [, update] = useState({});
  useListener([CHANGED], () => update({}));
  const { theme } = document.documentElement.dataset;
  const chosen = theme === 'light' || theme === 'dark' ? theme : 'system';
  const shown = chosen === 'system' ? (system.matches ? 'dark' : 'light') : chosen;
  return [chosen, shown, chooseTheme];
}

/** Toggles dark and light. Toggling to the system's current theme follows the system again. */
export function ThemeButton() {
  const [, theme, choose] = useTheme();
  const next = theme === 'dark' ? 'light' : 'dark';
  const matchesSystem = (next === 'dark') === system.matches;
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Use the ${next} theme`}
      onClick={() => choose(matchesSystem ? 'system' : next)}
    />
  );
}
