import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

let show: (content: ComponentChildren) => void = () => {};

/** Shows a dialog above all pages: Back changes the page below it, and does not take it away. */
export function showOverPages(content: ComponentChildren): void {
  show(content);
}

/** Where such a dialog appears; the shell has one. The browser asks before it leaves the site. */
export function OverPages() {
  const [content, setContent] = useState<ComponentChildren>(null);
  useEffect(() => {
    show = setContent;
    return () => {
      show = () => {};
    };
  }, []);
  const isOpen = content !== null;
  useEffect(() => {
    if (!isOpen) return;
    const ask = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isOpen]);
  return <>{content}</>;
}
