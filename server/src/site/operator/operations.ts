import { listAudits } from '../../operator/audit-runs/audit-runs.ts';
import { readFigures } from '../../operator/figures.ts';
import { listProviders, showCreates } from '../../operator/pausing.ts';
import { ACTIONS } from '../../operator/verbs/actions.ts';
import { ORPHANS } from '../../operator/verbs/orphans.ts';
import { operatorRead, verbRead } from './operator-route.ts';

/** Audits that are shown. */
const AUDITS = 10;

export const OPERATIONS = [
  operatorRead('/figures', {}, async ({ db, recent }) => {
    const { live, held, orphans, losses, closed, due, workers } = await readFigures(db);
    return { now: { live, held, orphans, losses, closed, due, workers }, minutes: recent.list() };
  }),
  operatorRead('/providers', {}, async ({ db, providers, providerName }) => ({
    items: (await listProviders(db)).map((row) => ({
      ...row,
      is_configured: providers.has(row.provider),
      is_default: row.provider === providerName,
    })),
    ...(await showCreates(db)),
  })),
  verbRead('/orphans', ORPHANS['orphans list']),
  verbRead('/actions', ACTIONS['actions list']),
  operatorRead('/audits', {}, async ({ db }) => ({
    items: await listAudits(db, AUDITS),
    next: null,
  })),
];
