import { useEffect, useState } from 'preact/hooks';
import { trying } from '../personal.ts';
import { IconButton } from '../ui/button.tsx';

type Theme = 'light' | 'dark';
/** `system` follows the system's theme. */
type ThemeChoice = Theme | 'system';

const system = matchMedia('(prefers-color-scheme: dark)');
const CHANGED = 'themechange';

function chooseTheme(choice: ThemeChoice): void {
  if (choice === 'system') {
    delete document.documentElement.dataset.theme;
    trying(() => localStorage.removeItem('theme'));
  } else {
    document.documentElement.dataset.theme = choice;
    trying(() => localStorage.setItem('theme', choice));
  }
  document.dispatchEvent(new Event(CHANGED));
}

export function useTheme(): [ThemeChoice, Theme, (choice: ThemeChoice) => void] {
  const [, update] = useState({});
  useEffect(() => {
    const onChange = () => update({});
    system.addEventListener('change', onChange);
    document.addEventListener(CHANGED, onChange);
    return () => {
      system.removeEventListener('change', onChange);
      document.removeEventListener(CHANGED, onChange);
    };
  }, []);
  const { theme } = document.documentElement.dataset;
  const chosen = theme === 'light' || theme === 'dark' ? theme : 'system';
  const shown = chosen === 'system' ? (system.matches ? 'dark' : 'light') : chosen;
  return [chosen, shown, chooseTheme];
}

/** Toggles dark and light. Choosing the system's theme follows it again. */
export function ThemeButton() {
  const [, theme, choose] = useTheme();
  const next = theme === 'dark' ? 'light' : 'dark';
  const isOfSystem = (next === 'dark') === system.matches;
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Use the ${next} theme`}
      onClick={() => choose(isOfSystem ? 'system' : next)}
    />
  );
}
