/**
 * An e-mail address as stored and compared: trimmed, in lower case. ASCII only: other letters have
 * several lower-case forms, so two people could claim one address.
 * @returns undefined if the text is not an e-mail address
 */
export function normalEmail(text: string): string | undefined {
  const email = text.trim();
  const isAddress = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(email);
  return isAddress && email.length <= 254 ? email.toLowerCase() : undefined;
}

/**
 * The characters that mail services ignore before the @: Google at
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
 * The mailbox behind an address, for limits: resolves the aliases that its mail service documents,
 * and strips anything after a plus sign. Two accounts may share it. Fastmail's subdomains:
 * https://www.fastmail.help/hc/en-us/articles/360060591053.
 */
export function mailboxOf(email: string): string {
  const [name = '', domain = ''] = email
    .toLowerCase()
    .replace(/\+[^@]*@/, '@')
    .replace(/@googlemail\.com$/, '@gmail.com')
    .replace(/^[^@]*@([^@.]+)\.(fastmail\.(?:com|fm))$/, '$1@$2')
    .split('@');
  const ignored = IGNORED.get(domain);
  return `${ignored ? name.replaceAll(ignored, '') : name}@${domain}`;
}
