import { setTimeout as delay } from 'node:timers/promises';
import { readCommandLine } from '../kit/options.ts';
import { startSimulatedMail } from './mail.ts';

const line = readCommandLine(
  'mail/main.ts',
  'Takes mails and prints them, for trials and tests only.',
  {
    port: { value: 'N', default: '0', about: 'its port; 0 picks a free one' },
  },
);
const server = await startSimulatedMail({ port: line.number('port') });
console.log(`mail simulator listens at ${server.url}`);
for (let printed = 0; ; await delay(200)) {
  for (const { to, subject, text } of server.mails.slice(printed)) {
    console.log(`\nTo: ${to.join(', ')}\nSubject: ${subject}\n\n${text}`);
    printed += 1;
  }
}
