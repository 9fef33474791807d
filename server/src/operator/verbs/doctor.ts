import { examine } from '../set-up/examine.ts';
import { optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const DOCTOR = {
  doctor: verb({
    summary:
      'Check each thing between a fresh server and the first paid video, with what to do; exit 1 ' +
      'if something is wrong',
    fields: { mail: optional(text('Where to send a mail.', { word: 'ADDRESS', max: 254 })) },
    notOnConsole: 'the page Set-up runs these checks, with the settings of the service',
    async run({ db, show, openSetUp }, { mail }) {
      if (!openSetUp) throw new Error('only the command line checks the set-up');
      const { checks, ...result } = await examine(await openSetUp(db, mail));
      if (!show) return { ...result, checks };
      for (const { state, check, found, todo } of checks) {
        show(`${state.padEnd(12)} ${check}: ${found}`);
        if (todo) show(`${' '.repeat(13)}${todo}`);
      }
      show(result.ready_to_sell ? 'Ready to sell.' : 'Not ready to sell.');
      return result;
    },
  }),
};
