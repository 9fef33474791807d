import { fork } from 'node:child_process';
import { once } from 'node:events';

/** One of this folder's programs in a process of its own: it answers one question at a time. */
export interface Program<Question, Answer> extends AsyncDisposable {
  ask(question: Question): Promise<Answer>;
}

type Reply = { answer: unknown } | { failure: string };

/**
 * Starts a program that calls {@link answerQuestions} and waits until it is set up.
 * @param script its file name in this folder
 */
export async function startProgram<Setup extends object, Question extends object, Answer>(
  script: string,
  setup: Setup,
): Promise<Program<Question, Answer>> {
  const child = fork(new URL(script, import.meta.url), { execArgv: ['--no-warnings'] });
  const ask = async (question: object): Promise<unknown> => {
    child.send(question);
    const [reply] = await Promise.race([once(child, 'message'), endOf(child, script)]);
    const told = reply as Reply;
    if ('failure' in told) throw new Error(`${script}: ${told.failure}`);
    return told.answer;
  };
  await ask(setup);
  return {
    ask: async (question) => (await ask(question)) as Answer,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function endOf(child: ReturnType<typeof fork>, script: string): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`${script} ended with ${code}`);
}

/** The program's side: sets up by the first message, answers the others, ends with its parent. */
export function answerQuestions<Setup, Question, Answer>(
  open: (setup: Setup) => Promise<{
    answer: (question: Question) => Promise<Answer>;
    close: () => Promise<void>;
  }>,
): void {
  let opened: ReturnType<typeof open> | undefined;
  process.on('message', (message) => {
    const reply: Promise<unknown> | undefined = opened?.then(({ answer }) =>
      answer(message as Question),
    );
    opened ??= open(message as Setup);
    (reply ?? opened.then(() => 'ready')).then(
      (answer) => process.send?.({ answer }),
      (error: Error) => process.send?.({ failure: error.stack ?? error.message }),
    );
  });
  process.once('disconnect', () => void opened?.then(({ close }) => close()));
}
