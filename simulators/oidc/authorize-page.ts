import type { ServerResponse } from 'node:http';
import type { Grants } from './grants.ts';

const PAGE = `<!doctype html><html lang="en"><title>Simulated sign-in</title>
<h1>Who are you?</h1>
<form><label>E-mail address <input name="as" type="email" required></label>
<label><input name="unverified" type="checkbox"> not verified</label>
INPUTS<button>Sign in</button></form>
<form>INPUTS<button name="as" value="deny">No, thanks</button></form></html>`;

/** The page on which a person signs in at the simulated issuer. */
export function authorizePage(
  asked: URL,
  response: ServerResponse,
  { decide }: Pick<Grants, 'decide'>,
): void {
  const as = asked.searchParams.get('as');
  if (as === null) {
    const inputs = [...asked.searchParams].map(
      ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
    );
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(PAGE.replaceAll('INPUTS', inputs.join('')));
    return;
  }
  const isVerified = !asked.searchParams.has('unverified');
  const person = { subject: String(numberOf(as)), email: as, isVerified };
  response.writeHead(302, { location: decide(asked.href, as === 'deny' ? 'deny' : person) }).end();
}

/** GitHub's ids are numbers: the same for the same address. */
function numberOf(text: string): number {
  return [...text].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1e9, 7);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
