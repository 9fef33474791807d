import { readFileSync } from 'node:fs';
import path from 'node:path';
import { escapeHtml } from './html.ts';

const ROOT = path.join(import.meta.dirname, '../..');

/**
 * An SVG file as a part of the page, so that it has the colours of the theme. Its own styles are
 * left out: they are for other viewers, and the content policy forbids them.
 * @param file relative to the root of the repository
 */
export function pictureHtml(file: string, alt: string): string {
  const svg = readFileSync(path.join(ROOT, file), 'utf8')
    .replaceAll(/\s*<(style|title)>.*?<\/\1>/gs, '')
    .replace('role="img"', `role="img" aria-label="${escapeHtml(alt)}"`);
  return `<span class="docs-picture">${svg.trim()}</span>`;
}
