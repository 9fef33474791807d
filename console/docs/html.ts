const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (found) => ENTITIES[found] ?? found);
}

/** A heading with a link to itself; `words` is its HTML. */
export function headingHtml(
  { depth, text, id }: { depth: number; text: string; id: string },
  words: string,
): string {
  if (depth === 1) return `<h1 id="${id}">${words}</h1>`;
  const link = `<a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a>`;
  return `<h${depth} id="${id}">${words} ${link}</h${depth}>`;
}

/** A sample; `code` is its HTML. */
export function sampleHtml(code: string): string {
  return `<div class="docs-code"><pre tabindex="0"><code>${code}</code></pre></div>`;
}

/** Samples of one thing. All are in the page: without a script they stand below each other. */
export function tabsHtml(samples: { name: string; html: string }[]): string {
  const panels = samples.map(({ name, html }) => {
    const title = name === 'all' ? '' : `<p class="docs-tab">${escapeHtml(name)}</p>`;
    return `<div data-tab="${escapeHtml(name)}">${title}${html}</div>`;
  });
  return `<div class="docs-tabs">${panels.join('')}</div>`;
}
