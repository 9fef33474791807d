/** The origin that the samples are written with. */
const WRITTEN = 'http://127.0.0.1:8080';

/** Shows the address of this installation in all samples. */
export function showOwnOrigin(): void {
  for (const code of document.querySelectorAll('.docs-code code')) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      if (node.nodeValue?.includes(WRITTEN)) {
        node.nodeValue = node.nodeValue.replaceAll(WRITTEN, location.origin);
      }
    }
  }
}
