import { cwd } from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import type { Quote } from '@framewright/client';
import type { Call } from '../command.ts';
import { Failure } from '../failure.ts';
import { finish, prepare, type Work } from '../generation/finish.ts';
import { outputOf, requestOf } from '../generation/plan.ts';
import { type Entry, forget, listEntries, record, takeEntry } from '../state/journal.ts';
import { clientOf, currentLogin, keyHashOf } from '../state/login.ts';
import { onInterrupt } from '../terminal/interrupt.ts';
import { canAsk, confirm } from '../terminal/prompt.ts';
import type { Screen } from '../terminal/screen.ts';

export async function generate(call: Call): Promise<void> {
  const request = requestOf(call);
  const output = outputOf(call.text('output'), call.flag('force'));
  const login = currentLogin();
  const { screen } = call;
  const work = { client: clientOf(login), screen };
  const isAgreed = call.flag('yes');
  if (!isAgreed && !canAsk()) {
    const next = 'Add --yes to agree to the price without a question; fw quote shows it.';
    throw new Failure('usage', 'Nobody is here to be asked.', { charged: 'no', next });
  }
  const entry: Entry = {
    version: 1,
    idempotencyKey: `fw-${crypto.randomUUID()}`,
    baseUrl: login.baseUrl,
    keyMark: keyHashOf(login),
    request,
    output,
    folder: cwd(),
    isAgreed,
    body: null,
    taskId: null,
    createdAt: new Date().toISOString(),
  };
  if (!call.flag('again')) requireNew(entry);
  await begin(entry, work);
  const { task, output: file } = await finish(entry, work);
  screen.note(`${task.credits_used} credits were charged for ${task.id}.`);
  screen.result({ file, task }, file);
}

/**
 * Locks the entry, writes it to disk, uploads its files, shows its price and asks for confirmation.
 * @throws Failure `credits`, `other`, or the service's: nothing was charged
 */
async function begin(entry: Entry, work: Work): Promise<void> {
  takeEntry(entry.idempotencyKey);
  record(entry);
  const resume = 'fw resume goes on without paying twice; nothing was charged yet.';
  if (entry.isAgreed) onInterrupt(resume);
  else onInterrupt('Nothing was charged.', () => void forget(entry));
  try {
    const body = await prepare(entry, work);
    await agree(await work.client.videos.quote(body), entry, work.screen);
  } catch (error) {
    forget(entry);
    throw error;
  }
  entry.isAgreed = true;
  record(entry);
}

/**
 * Refuses to repeat an unfinished generation, which would pay twice, or to write to its file.
 * @throws Failure `unfinished`
 */
function requireNew(entry: Entry): void {
  for (const other of listEntries().filter((one) => one.isAgreed)) {
    const isSame = isDeepStrictEqual(wishOf(other), wishOf(entry));
    const sharesFile = other.output !== null && other.output === entry.output;
    if (!isSame && !sharesFile) continue;
    const isAbandoned = takeEntry(other.idempotencyKey);
    // Another `fw` is making the same at this moment: somebody wants two.
    if (isSame && !isAbandoned && !sharesFile) continue;
    const message = isSame
      ? 'The same generation is unfinished.'
      : `Another unfinished generation writes to ${entry.output}.`;
    const next = 'fw resume finishes it without paying again; --again makes another video.';
    throw new Failure('unfinished', message, { charged: 'no', next });
  }
}

const wishOf = ({ baseUrl, request, output, folder }: Entry) => ({
  baseUrl,
  request,
  file: output ?? folder,
});

/** @throws Failure `credits`, `other`: too few credits, or the user declines */
async function agree(quote: Quote, { isAgreed }: Entry, screen: Screen): Promise<void> {
  const { credits, available_credits: available, enough } = quote;
  const price = `This video costs ${credits} credits; ${available} are available.`;
  if (!enough) {
    const next = 'Buy credits on the website, or ask for a shorter or smaller video.';
    const code = 'insufficient_credits';
    throw new Failure('credits', price, { code, charged: 'no', retry: 'same_key', next });
  }
  screen.note(price);
  if (isAgreed || (await confirm('Make it?'))) return;
  throw new Failure('other', 'Not made.', { charged: 'no' });
}
