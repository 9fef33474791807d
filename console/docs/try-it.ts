import { escapeHtml } from './html.ts';

/** A link that opens the playground with a request filled in. */
export function tryItLink(body: unknown): string {
  const address = `/playground?request=${encodeURIComponent(JSON.stringify(body))}`;
  return `<p class="docs-try"><a href="${escapeHtml(address)}">Try it in the playground</a></p>`;
}

/** The body of the create that a command of curl sends; undefined if it sends none. */
export function createBodyOf(command: string): unknown {
  const [, json] = /\/video\/generations\b.*?-d '(\{[^']*\})'/s.exec(command) ?? [];
  return json === undefined ? undefined : JSON.parse(json);
}
