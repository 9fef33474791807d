import type { Call } from '../command.ts';
import { begin } from '../generation/begin.ts';
import { finish } from '../generation/finish.ts';
import { outputOf, planOf } from '../generation/plan.ts';
import { clientOf, currentLogin } from '../state/login.ts';

export async function run(call: Call): Promise<void> {
  const plan = planOf(call);
  const choice = {
    output: outputOf(call.text('output'), call.flag('force')),
    isAgreed: call.flag('yes'),
    isAgain: call.flag('again'),
  };
  const { screen } = call;
  const login = currentLogin();
  const client = clientOf(login);
  const entry = await begin(plan, choice, { client, login, screen });
  const { task, output } = await finish(entry, { client, screen });
  screen.note(`${task.credits_used} credits were charged for ${task.id}.`);
  screen.result({ file: output, task }, output);
}
