/**
 * An e-mail address as it is stored and compared: trimmed, in lower case. Only ASCII: other
 * letters have several lower cases, so two people could claim one address.
 * @returns undefined if the text is not an e-mail address
 */
export function normalEmail(text: string): string | undefined {
  const email = text.trim();
  const isAddress = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(email);
  return isAddress && email.length <= 254 ? email.toLowerCase() : undefined;
}

/**
 * The characters that a mail service ignores in the names of its addresses: Google at
 * https://support.google.com/mail/answer/7436150, Proton at
 * https://proton.me/support/change-username.
 */
const IGNORED = new Map([
  ['gmail.com', /\./g],
  ...['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'].map(
    (domain) => [domain, /[._-]/g] as const,
  ),
]);

/**
 * The mailbox that mails to an address arrive in, for limits: what its mail service documents about
 * other addresses of it, and what follows a plus sign anywhere. Two accounts may still have it.
 * Fastmail's subdomains: https://www.fastmail.help/hc/en-us/articles/360060591053.
 */
export function mailboxOf(email: string): string {
  const [name = '', domain = ''] = email
    .toLowerCase()
    .replace(/\+[^@]*@/, '@')
    .replace(/@googlemail\.com$/, '@gmail.com')
    .replace(/^[^@]*@([^@.]+)\.(fastmail\.(?:com|fm))$/, '$1@$2')
    .split('@');
  return `${name.replaceAll(IGNORED.get(domain) ?? /$^/g, '')}@${domain}`;
}
