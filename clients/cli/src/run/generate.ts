import { cwd } from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import type { Framewright, GenerateRequest, Quote } from '@framewright/client';
import type { Call } from '../command.ts';
import { Failure } from '../failure.ts';
import { finish, prepare } from '../generation/finish.ts';
import { outputOf, requestOf } from '../generation/plan.ts';
import { type Entry, forget, listEntries, record, takeEntry } from '../state/journal.ts';
import { clientOf, currentLogin, type Login, markOf } from '../state/login.ts';
import { onInterrupt } from '../terminal/interrupt.ts';
import { canAsk, confirm } from '../terminal/prompt.ts';
import type { Screen } from '../terminal/screen.ts';

export async function generate(call: Call): Promise<void> {
  const request = requestOf(call);
  const choice = {
    output: outputOf(call.text('output'), call.flag('force')),
    isAgreed: call.flag('yes'),
    isAgain: call.flag('again'),
  };
  const { screen } = call;
  const login = currentLogin();
  const client = clientOf(login);
  const entry = await begin(request, choice, { client, login, screen });
  const { task, output } = await finish(entry, { client, screen });
  screen.note(`${task.credits_used} credits were charged for ${task.id}.`);
  screen.result({ file: output, task }, output);
}

interface Choice {
  output: string | null;
  isAgreed: boolean;
  /** Although the same generation is unfinished. */
  isAgain: boolean;
}

interface Desk {
  client: Framewright;
  login: Login;
  screen: Screen;
}

/**
 * Writes the request to disk, uploads its files, shows its price and asks for confirmation.
 * @returns a confirmed entry, locked by this process
 * @throws Failure `usage`, `credits`, `unfinished`, or the service's: nothing was charged
 */
async function begin(request: GenerateRequest, choice: Choice, desk: Desk): Promise<Entry> {
  if (!choice.isAgreed && !canAsk()) {
    const next = 'Add --yes to agree to the price without a question; fw quote shows it.';
    throw new Failure('usage', 'Nobody is here to be asked.', { charged: 'no', next });
  }
  const entry = entryOf(request, choice, desk.login);
  if (!choice.isAgain) requireNew(entry);
  takeEntry(entry.idempotencyKey);
  record(entry);
  const resume = 'fw resume goes on without paying twice; nothing was charged yet.';
  if (choice.isAgreed) onInterrupt(resume);
  else onInterrupt('Nothing was charged.', () => void forget(entry));
  try {
    const body = await prepare(entry, desk);
    await agree(await desk.client.videos.quote(body), choice, desk.screen);
  } catch (error) {
    forget(entry);
    throw error;
  }
  entry.isAgreed = true;
  record(entry);
  return entry;
}

function entryOf(request: GenerateRequest, { output, isAgreed }: Choice, login: Login): Entry {
  return {
    version: 1,
    idempotencyKey: `fw-${crypto.randomUUID()}`,
    baseUrl: login.baseUrl,
    keyMark: markOf(login),
    request,
    output,
    folder: cwd(),
    isAgreed,
    body: null,
    taskId: null,
    createdAt: new Date().toISOString(),
  };
}

/** The same command again after a crash would pay twice. @throws Failure `unfinished` */
function requireNew(entry: Entry): void {
  for (const other of listEntries().filter((one) => one.isAgreed)) {
    const isSame = isDeepStrictEqual(wishOf(other), wishOf(entry));
    const sharesFile = other.output !== null && other.output === entry.output;
    if (!isSame && !sharesFile) continue;
    const isOrphaned = takeEntry(other.idempotencyKey);
    if (isSame && !isOrphaned && !sharesFile) continue;
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
async function agree(quote: Quote, { isAgreed }: Choice, screen: Screen): Promise<void> {
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
