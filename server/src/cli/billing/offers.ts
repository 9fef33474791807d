import { listOffers, type Offer, retireOffer, setOffer } from '../../billing/offers.ts';
import { UsageError } from '../../kernel/errors.ts';
import { performAction } from '../../operator/actions.ts';
import { type Arguments, type Command, requiredOption } from '../command.ts';

export const PACK_COMMANDS: readonly Command[] = [
  {
    usage:
      'packs set ID --name N --credits C --price MINOR --currency CUR [--expires-days D] ' +
      '--reason TEXT',
    summary: 'Sell or change a pack; open orders keep their terms. MINOR: 990 for 9.90 USD',
    options: ['name', 'credits', 'price', 'currency', 'expires-days'],
    reason: 'required',
    run: (db, args) => set(db, args, { kind: 'pack', period: null }),
  },
  retireCommand('pack'),
  listCommand('pack'),
];

export const PLAN_COMMANDS: readonly Command[] = [
  {
    usage:
      'plans set ID --name N --credits C --price MINOR --currency CUR [--period month|year] ' +
      '[--expires-days D] --reason TEXT',
    summary: 'Sell or change a plan of a subscription; subscriptions that exist keep their terms',
    options: ['name', 'credits', 'price', 'currency', 'period', 'expires-days'],
    reason: 'required',
    run: (db, args) => set(db, args, { kind: 'plan', period: readPeriod(args.options.period) }),
  },
  retireCommand('plan'),
  listCommand('plan'),
];

function set(
  db: Parameters<Command['run']>[0],
  { words: [id = ''], options, action }: Arguments,
  type: Pick<Offer, 'kind' | 'period'>,
) {
  const days = options['expires-days'];
  const offer = {
    ...{ ...type, id, name: requiredOption(options, 'name') },
    credits: wholeNumber(requiredOption(options, 'credits')),
    price: wholeNumber(requiredOption(options, 'price')),
    currency: requiredOption(options, 'currency').toLowerCase(),
    expires_days: days === undefined ? null : wholeNumber(days),
  };
  const { id: target, ...details } = offer;
  return performAction(db, action, { target, details }, async (tx) => {
    const changed = await setOffer(tx, offer);
    return { ...offer, active: true, changed };
  });
}

/** NaN unless it is one; {@link setOffer} then names the option. */
function wholeNumber(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

function readPeriod(text = 'month'): 'month' | 'year' {
  if (text === 'month' || text === 'year') return text;
  throw new UsageError('--period must be month or year');
}

function retireCommand(kind: Offer['kind']): Command {
  return {
    usage: `${kind}s retire ID --reason TEXT`,
    summary: `Stop selling a ${kind}`,
    options: [],
    reason: 'required',
    run: (db, { words: [id = ''], action }) =>
      performAction(db, action, { target: id }, async (tx) => {
        const changed = await retireOffer(tx, kind, id);
        return { id, active: false, changed };
      }),
  };
}

function listCommand(kind: Offer['kind']): Command {
  return {
    usage: `${kind}s list`,
    summary: `List ${kind}s, also those that are not sold any more`,
    options: [],
    run: (db) => listOffers(db, kind, { onlyActive: false }),
  };
}
