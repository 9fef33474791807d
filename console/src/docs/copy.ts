const COPIED_SECONDS = 2;

/** Gives each sample a button that copies it. */
export function addCopyButtons(): void {
  for (const sample of document.querySelectorAll<HTMLElement>('.docs-code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'docs-copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(button, sample));
    sample.append(button);
  }
}

async function copy(button: HTMLButtonElement, sample: HTMLElement): Promise<void> {
  const text = sample.querySelector('code')?.textContent ?? '';
  button.textContent = await navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'Copy it by hand',
  );
  setTimeout(() => {
    button.textContent = 'Copy';
  }, COPIED_SECONDS * 1000);
}
