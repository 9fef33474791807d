import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startSimulatedMail } from './mail.ts';

// Takes mails and prints them until it is killed: for trials and tests only.
const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const server = await startSimulatedMail({ port: Number(values.port) });
console.log(`mail simulator listens at ${server.url}`);
for (let printed = 0; ; await delay(200)) {
  for (const { to, subject, text } of server.mails.slice(printed)) {
    console.log(`\nTo: ${to.join(', ')}\nSubject: ${subject}\n\n${text}`);
    printed += 1;
  }
}
