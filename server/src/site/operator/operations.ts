import { Type } from 'typebox';
import { acknowledgeOrphan } from '../../operator/acknowledge-orphan.ts';
import { listActions } from '../../operator/actions.ts';
import { listAudits, startAudit } from '../../operator/audit-runs/audit-runs.ts';
import { readFigures } from '../../operator/figures.ts';
import {
  listProviders,
  pauseCreates,
  pauseProvider,
  resumeCreates,
  resumeProvider,
  showCreates,
} from '../../operator/pausing.ts';
import { listOrphans } from '../../tasks/attempts/orphans.ts';
import { operatorAction, operatorRead, PAGE, PAGE_ROWS, pageOf } from './operator-route.ts';

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
  operatorAction('providers pause', '/providers/:id/pause', {}, ({ db }, { id, action }) =>
    pauseProvider(db, action, id),
  ),
  operatorAction('providers resume', '/providers/:id/resume', {}, ({ db }, { id, action }) =>
    resumeProvider(db, action, id),
  ),
  operatorAction('creates pause', '/creates/pause', {}, ({ db }, { action }) =>
    pauseCreates(db, action),
  ),
  operatorAction('creates resume', '/creates/resume', {}, ({ db }, { action }) =>
    resumeCreates(db, action),
  ),
  operatorRead(
    '/orphans',
    { ...PAGE, all: Type.Optional(Type.Literal('yes')) },
    async ({ db }, { query: { cursor, all } }) => {
      const page = { all: all !== undefined, after: cursor, limit: PAGE_ROWS };
      const rows = await listOrphans(db, page);
      return pageOf(rows, ({ provider, job_id }) => `${provider}/${job_id}`);
    },
  ),
  operatorAction(
    'orphans acknowledge',
    '/orphans/acknowledge',
    { provider: Type.String({ maxLength: 100 }), job_id: Type.String({ maxLength: 300 }) },
    ({ db }, { body: { provider, job_id: jobId }, action }) =>
      acknowledgeOrphan(db, action, { provider, jobId }),
  ),
  operatorRead('/audits', {}, async ({ db }) => ({
    items: await listAudits(db, AUDITS),
    next: null,
  })),
  operatorAction('audit', '/audits', {}, async ({ db, log }, { action }) => {
    const { changed } = await startAudit({ db, log }, action);
    return { changed };
  }),
  operatorRead(
    '/actions',
    {
      cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
      target: Type.Optional(Type.String({ maxLength: 300 })),
    },
    async ({ db }, { query: { cursor, target } }) => {
      const after = cursor === undefined ? undefined : Number(cursor);
      const rows = await listActions(db, { target: target || undefined, after, limit: PAGE_ROWS });
      return pageOf(rows, ({ id }) => String(id));
    },
  ),
];
