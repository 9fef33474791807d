import { ApiFailure, api } from '../api.ts';
import { forgetIfSignedOut } from '../personal.ts';
import { element } from './element.ts';

const PLACEHOLDER = 'fw_test_...';
const KEPT = 'docs-test-key';
const DAYS_VALID = 7;

/** Adds the button that makes a test key and shows it in all samples until the sign-out. */
export function offerTestKey(): void {
  const places = textsWith(PLACEHOLDER);
  forgetIfSignedOut();
  const kept = sessionStorage.getItem(KEPT);
  if (kept) fill(places, kept);
  const place = document.querySelector('.docs-key');
  if (!place) return;
  if (kept) {
    place.remove();
    return;
  }
  const words = 'Fill in a fresh test key';
  const button = element('button', { type: 'button', class: 'docs-fill' }, words);
  const note = element('span', { role: 'status' });
  button.addEventListener('click', async () => {
    button.disabled = true;
    note.textContent = await makeKey(places);
    button.disabled = false;
  });
  place.append(button, note);
}

function textsWith(word: string): Text[] {
  const found: Text[] = [];
  for (const code of document.querySelectorAll('.docs-code code')) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      if (texts.currentNode.nodeValue?.includes(word)) found.push(texts.currentNode as Text);
    }
  }
  return found;
}

function fill(places: Text[], secret: string): void {
  for (const place of places) place.data = place.data.replaceAll(PLACEHOLDER, secret);
}

/** @returns the message for the reader */
async function makeKey(places: Text[]): Promise<string> {
  const expires_at = new Date(Date.now() + DAYS_VALID * 86_400_000).toISOString();
  const body = { name: 'Documentation', mode: 'test', expires_at } as const;
  try {
    const { secret } = await api('POST /console/api/keys', { body });
    sessionStorage.setItem(KEPT, secret);
    fill(places, secret);
    return `Every sample has it now. It works for ${DAYS_VALID} days.`;
  } catch (error) {
    if (!(error instanceof ApiFailure)) return 'That did not work. Try again.'; // such as full storage
    if (error.status === 401) {
      location.assign(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
    }
    if (error.code !== 'proof_required') return error.message;
    return 'First confirm that it is you: make the key on the page “API keys”.';
  }
}
