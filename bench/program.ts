import { fork } from 'node:child_process';
import { once } from 'node:events';

/** One of this folder's programs in a process of its own; it handles one request at a time. */
export interface Program<Request, Result> extends AsyncDisposable {
  send(request: Request): Promise<Result>;
}

/** Where a program that is a server listens. */
export interface ProgramAddress {
  url: string;
  pid: number;
}

type Reply = { result: unknown } | { failure: string };

/**
 * Starts a program that calls {@link serveRequests} and waits until it is set up.
 * @param script its file name in this folder
 */
export async function startProgram<Setup extends object, Request extends object, Result>(
  script: string,
  setup: Setup,
): Promise<Program<Request, Result>> {
  const child = fork(new URL(script, import.meta.url), { execArgv: ['--no-warnings'] });
  const ended = endOf(child, script);
  ended.catch(() => {}); // a request that is under way reports it
  const send = async (request: object): Promise<unknown> => {
    child.send(request);
    const [message] = await Promise.race([once(child, 'message'), ended]);
    const reply = message as Reply;
    if ('failure' in reply) throw new Error(`${script}: ${reply.failure}`);
    return reply.result;
  };
  await send(setup);
  return {
    send: async (request) => (await send(request)) as Result,
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

/**
 * The program's side: the first message is its set-up, all others are requests. The program ends
 * with its parent.
 */
export function serveRequests<Setup, Request, Result>(
  open: (setup: Setup) => Promise<{
    handle: (request: Request) => Promise<Result>;
    close: () => Promise<void>;
  }>,
): void {
  let opened: ReturnType<typeof open> | undefined;
  process.on('message', (message) => {
    const reply: Promise<unknown> | undefined = opened?.then(({ handle }) =>
      handle(message as Request),
    );
    opened ??= open(message as Setup);
    (reply ?? opened.then(() => 'ready')).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ failure: error.stack ?? error.message }),
    );
  });
  process.once('disconnect', () => void opened?.then(({ close }) => close()));
}
