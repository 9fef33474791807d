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
 * The mailbox that mails to an address arrive in, for limits: what follows a plus sign names no
 * other one. Two accounts may still have it.
 */
export function mailboxOf(email: string): string {
  return email.toLowerCase().replace(/\+[^@]*@/, '@');
}
