import { UsageError } from '../../kernel/errors.ts';
import { performAction } from '../../operator/actions.ts';
import { rotateSecrets } from '../../storage/delivery-secrets.ts';
import type { Arguments, Command } from '../command.ts';

/** Longer than a provider may wait before it fetches an input: two days. */
const KEEP_HOURS = 72;
const MAX_HOURS = 87_600;

export const SECRET_COMMANDS: readonly Command[] = [
  {
    usage: 'secrets rotate [--keep-hours N | --cut-off] --reason TEXT',
    summary: 'Sign links with a new secret; old links work N hours (72), or --cut-off: not at all',
    options: ['keep-hours'],
    flags: ['cut-off'],
    reason: 'required',
    run: (db, { options, action }) => {
      const hours = readHours(options);
      const changing = { target: 'delivery_secrets', details: { keep_hours: hours } };
      return performAction(db, action, changing, (tx) => rotateSecrets(tx, hours * 3600));
    },
  },
];

function readHours({ 'keep-hours': hours, 'cut-off': cutOff }: Arguments['options']): number {
  if (hours !== undefined && cutOff !== undefined) {
    throw new UsageError('secrets rotate takes --keep-hours or --cut-off, not both');
  }
  if (cutOff !== undefined) return 0;
  const value = /^\d{1,5}(\.\d+)?$/.test(hours ?? String(KEEP_HOURS))
    ? Number(hours ?? KEEP_HOURS)
    : Number.NaN;
  if (value <= MAX_HOURS) return value;
  throw new UsageError(`--keep-hours must be a number from 0 to ${MAX_HOURS}`);
}
