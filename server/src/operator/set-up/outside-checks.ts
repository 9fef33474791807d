import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { newId } from '../../kernel/ids.ts';
import { tryMailServer } from '../../mail/mailer.ts';
import type { HostedProvider } from '../../providers/provider.ts';
import { CERTIFICATE_DAYS } from '../decisions.ts';
import { type Check, notChecked, type SetUp, toDo } from './set-up.ts';

const DAY_MS = 86_400_000;

export const OUTSIDE_CHECKS: Check[] = [
  {
    name: 'storage',
    todo: 'See docs/operators/storage.md.',
    run: putReadDelete,
  },
  {
    name: 'mail',
    todo: 'Check SMTP_URL: its host, port, user and password.',
    async run({ mail, mailTo }) {
      if (!mail) {
        const todo = 'Set SMTP_URL and MAIL_FROM: see docs/operators/sign-in.md.';
        return toDo('mails, also sign-in codes, are only in the log', todo);
      }
      const at = `${mail.host}:${mail.port}`;
      const subject = 'A test of your mail server';
      const body = 'The set-up check sent this mail. Nothing is left to do for mails.';
      await tryMailServer(mail, mailTo ? { to: mailTo, subject, text: body } : undefined);
      return mailTo ? `${at} took a mail to ${mailTo}` : `${at} lets the service sign in`;
    },
  },
  {
    name: 'operators',
    todo: 'Set ADMIN_EMAILS.',
    async run({ adminEmails }) {
      if (adminEmails.size > 0) return [...adminEmails].join(', ');
      return toDo('nobody may open the console', 'Set ADMIN_EMAILS to your address.');
    },
  },
  {
    name: 'provider',
    todo: 'Check the variables of the connection: see docs/operators/README.md#providers.',
    run: askProviders,
  },
  {
    name: 'Content Credentials',
    todo: 'See docs/operators/content-credentials.md.',
    async run({ signing, now }) {
      if (!signing) {
        const todo = 'Set CONTENT_CREDENTIALS=on, unless something else marks them.';
        return notChecked('off: nothing in the videos says that they are generated', todo);
      }
      if (!signing.given) return 'signed with a certificate that the service renews itself';
      const { expiresAt, sign } = signing.given;
      await sign(Buffer.from('a set-up check')); // the key may be in an outside service
      const found = `the certificate is valid until ${expiresAt.toISOString().slice(0, 10)}`;
      if (expiresAt.getTime() - now() > CERTIFICATE_DAYS * DAY_MS) return found;
      return toDo(found, 'Set CONTENT_CREDENTIALS_CERT to a new one.');
    },
  },
];

async function putReadDelete({ openStorage, scratch }: SetUp): Promise<string> {
  const storage = await openStorage();
  const id = newId('object');
  const written = `set-up ${id}`;
  try {
    await scratch.withFiles(async (newPath) => {
      const file = newPath('set-up');
      await writeFile(file, written);
      await storage.put(id, file);
    });
    const read = await text(await storage.open(id));
    if (read !== written) throw new Error('what was read is not what was put');
  } catch (error) {
    await storage.delete(id).catch(() => {});
    throw error;
  }
  await storage.delete(id);
  if ((await storage.sizeOf(id)) !== undefined) throw new Error('a deleted object is still there');
  return 'an object was put, read and deleted';
}

/** Asks each connection for a job that nobody made: a free call that needs the key. */
async function askProviders({ openStorage, openProviders, provider: byDefault }: SetUp) {
  const providers = await openProviders(await openStorage());
  const problems: string[] = [];
  for (const provider of providers.values()) {
    const problem = await problemOf(provider);
    if (problem !== undefined) problems.push(`${provider.name}: ${problem}`);
    await provider.stop?.();
  }
  const [first] = problems;
  if (first !== undefined) throw new Error(problems.join('; '));
  if (providers.get(byDefault)?.capabilities.drawsPatterns) {
    const todo = 'Set PROVIDER to one of docs/operators/README.md#providers.';
    return toDo(`${byDefault} draws test patterns, which nobody buys`, todo);
  }
  const remote = [...providers.values()].filter((provider) => !provider.capabilities.drawsPatterns);
  return `${remote.map(({ name }) => name).join(', ')} took the key`;
}

async function problemOf(provider: HostedProvider): Promise<string | undefined> {
  try {
    const { kind } = await provider.read(randomUUID());
    return kind === 'missing' ? undefined : `it has a job that nobody made (${kind})`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
