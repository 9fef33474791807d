import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** A mail that the server has taken, decoded. */
interface ReceivedMail {
  /** Of the envelope. */
  from: string;
  /** The header From, with its encoded words. */
  sender: string;
  /** The header Reply-To. */
  replyTo: string;
  to: string[];
  /** The header Message-ID. */
  id: string;
  subject: string;
  text: string;
}

/**
 * What the server does with a mail: take it, refuse it for good (550), refuse it for now (451), or
 * never respond.
 */
type MailBehaviour = 'take' | 'refuse' | 'busy' | 'hang';

/** Starts an SMTP server on the loopback that delivers nothing. */
export async function startSimulatedMail({ port = 0 } = {}) {
  const mails: ReceivedMail[] = [];
  let behaviour: MailBehaviour = 'take';
  let tries = 0;
  let arrived = Promise.withResolvers<void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 100,
    onData(stream, session, done) {
      tries += 1;
      const take = (raw: string) => {
        if (behaviour === 'hang') return;
        if (behaviour !== 'take') {
          const responseCode = behaviour === 'busy' ? 451 : 550;
          done(Object.assign(new Error('not taken'), { responseCode }));
          return;
        }
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : (mailFrom?.address ?? '');
        mails.push({ from, to: rcptTo.map(({ address }) => address), ...parseMail(raw) });
        done();
        arrived.resolve();
        arrived = Promise.withResolvers();
      };
      readText(stream).then(take, () => {}); // the client has broken its connection
    },
  });
  server.on('error', () => {}); // a client that breaks its connection
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  return {
    /** For SMTP_URL. */
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    /** All mails that were taken, the oldest first. */
    mails,
    /** How many mails were sent to it, refused ones too. */
    tries: () => tries,
    behave: (next: MailBehaviour) => {
      behaviour = next;
    },
    /** The newest mail to an address, as soon as there is one beyond the first `after`. */
    async mailTo(address: string, after: number = 0) {
      for (;;) {
        const found = mails.filter(({ to }) => to.includes(address));
        const newest = found.at(-1);
        if (newest && found.length > after) return newest;
        await arrived.promise;
      }
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function parseMail(raw: string): Omit<ReceivedMail, 'from' | 'to'> {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, end).replaceAll(/\r\n[ \t]+/g, ' ');
  const header = (name: string) =>
    new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
  const body = raw.slice(end + 4);
  const text = decoded(body, header('Content-Transfer-Encoding').toLowerCase());
  const id = header('Message-ID');
  return {
    id,
    sender: header('From'),
    replyTo: header('Reply-To'),
    subject: header('Subject'),
    text: text.replaceAll('\r\n', '\n'),
  };
}

function decoded(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([\dA-F]{2})/g, (_match, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, 'latin1').toString();
}
