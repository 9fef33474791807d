import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../kernel/log.ts';

interface Mail {
  /** Set if the mail may be sent again: all copies then have the same Message-ID. */
  id?: string;
  /** One address, without a name. */
  to: string;
  subject: string;
  text: string;
}

export interface MailSettings {
  host: string;
  port: number;
  /** Implicit TLS. Otherwise STARTTLS is used if the server offers it. */
  isTls: boolean;
  login: { user: string; pass: string } | undefined;
  /** `Name <address>`, or an address. */
  from: string;
}

/** Never throws; ends within two minutes. @returns whether the server accepted the mail */
export type SendMail = (mail: Mail) => Promise<boolean>;

export interface Mailer {
  sendMail: SendMail;
  /** Whether mails are printed in the log instead of being sent. */
  isLogged: boolean;
  /** Waits a few seconds for mails being sent, then abandons them. */
  close(): Promise<void>;
}

/** The timeout for the connection, the greeting, and each response. */
const TIMEOUT_MS = 10_000;
const CONNECTIONS = 4;
const MAX_WAITING = 1000;
/** The pauses before the tries. */
const PAUSES_MS = [0, 2_000, 10_000];
const CLOSE_MS = 3_000;

/** What the operator's brand adds to mails. */
interface Sender {
  /** Replaces the name in MAIL_FROM. */
  name?: string | undefined;
  /** Gets the replies. */
  supportEmail?: string | undefined;
}

/** @param settings undefined: mails are printed in the log, with a warning at once */
export function openMailer({
  settings,
  log,
  sender = () => ({}),
  pausesMs = PAUSES_MS,
  timeoutMs = TIMEOUT_MS,
}: {
  settings: MailSettings | undefined;
  log: Log;
  sender?: () => Sender;
  pausesMs?: readonly number[];
  timeoutMs?: number;
}): Mailer {
  if (!settings) return logMailer(log, sender);
  const { send, close } = smtpTransport(settings, { timeoutMs, sender });
  const sending = new Set<Promise<boolean>>();
  const closing = new AbortController();
  const { signal } = closing;
  return {
    isLogged: false,
    sendMail: (mail) => {
      if (sending.size >= MAX_WAITING) {
        log.error({ waiting: sending.size }, 'a mail was dropped: the queue is full');
        return Promise.resolve(false);
      }
      const sent = sendWithRetries(() => send(mail), { log, pausesMs, signal });
      sending.add(sent);
      return sent.finally(() => sending.delete(sent));
    },
    async close() {
      closing.abort();
      const waited = new AbortController();
      const sent = Promise.all(sending).finally(() => waited.abort());
      const late = delay(CLOSE_MS, undefined, { signal: waited.signal }).catch(() => {});
      await Promise.race([sent, late]);
      await close();
    },
  };
}

/**
 * Connects and signs in as a send does, and sends a mail if one is given.
 * @throws Error in the server's words
 */
export async function tryMailServer(settings: MailSettings, mail?: Mail): Promise<void> {
  const { verify, send, close } = smtpTransport(settings, {
    timeoutMs: TIMEOUT_MS,
    sender: () => ({}),
  });
  try {
    await verify();
    if (mail) await send(mail);
  } finally {
    await close();
  }
}

/** For trials without a mail server: whoever reads the log can sign in to any account. */
function logMailer(log: Log, sender: () => Sender): Mailer {
  log.warn('SMTP_URL is not set: mails are printed in this log, including sign-in codes');
  return {
    isLogged: true,
    sendMail: async ({ to, subject, text }) => {
      const shown = withSignature(text, sender());
      log.warn({ to, subject }, `a mail that was not sent, because SMTP_URL is not set:\n${shown}`);
      return true;
    },
    close: async () => {},
  };
}

/** The text, with the signature of a brand below "-- " (RFC 3676, 4.3). */
function withSignature(text: string, { name, supportEmail }: Sender): string {
  const lines = [name, supportEmail].filter((line) => line !== undefined);
  return lines.length === 0 ? text : [`${text.trimEnd()}\n`, '-- ', ...lines, ''].join('\n');
}

async function sendWithRetries(
  send: () => Promise<unknown>,
  { log, pausesMs, signal }: { log: Log; pausesMs: readonly number[]; signal: AbortSignal },
): Promise<boolean> {
  for (const [i, pauseMs] of pausesMs.entries()) {
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => {});
    try {
      await send();
      return true;
    } catch (error) {
      const { message, responseCode = 0 } = error as Error & { responseCode?: number };
      const isRefused = responseCode >= 500; // permanently
      const isLast = isRefused || signal.aborted || i === pausesMs.length - 1;
      const line = { err: message, again: !isLast };
      log.warn(line, isLast ? 'a mail could not be sent' : 'a mail could not be sent yet');
      if (isLast) return false;
    }
  }
  return false;
}

function smtpTransport(
  { host, port, isTls, login, from }: MailSettings,
  { timeoutMs, sender }: { timeoutMs: number; sender: () => Sender },
) {
  const [, address = from] = /<([^>]*)>$/.exec(from) ?? [];
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      host,
      port,
      secure: isTls,
      pool: true,
      maxConnections: CONNECTIONS,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      ...(login && { auth: login }),
    });
  };
  let opened: ReturnType<typeof open> | undefined;
  const transport = () => {
    opened ??= open();
    return opened;
  };
  return {
    verify: async () => (await transport()).verify(),
    async send({ id, to, subject, text }: Mail): Promise<void> {
      const signal = AbortSignal.timeout(3 * timeoutMs);
      const brand = sender();
      await (await transport()).sendMail({
        from: brand.name === undefined ? from : namedAddress(address, brand.name),
        to: namedAddress(to),
        subject,
        text: withSignature(text, brand),
        signal,
        ...(brand.supportEmail && { replyTo: namedAddress(brand.supportEmail) }),
        ...(id && { messageId: `<${id}@${address.split('@')[1]}>` }),
      });
    },
    close: async () => (await opened)?.close(),
  };
}

/** As an object, an address and its name are never parsed as a list of addresses. */
function namedAddress(address: string, name = '') {
  return { name, address };
}
