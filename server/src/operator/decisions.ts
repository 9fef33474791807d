import type { Queryable } from '../database/database.ts';
import { recoverySeconds } from '../database/lineage.ts';
import { closedSubjects } from '../providers/circuit-breaker/breaker.ts';
import { unservedTasks } from '../worker/live-workers.ts';
import { type WaitingDecision, waitingDecisions } from './listings/decisions.ts';
import { showRoutes } from './verbs/routes.ts';

/** How long before its expiry a certificate should be replaced. */
export const CERTIFICATE_DAYS = 30;

interface Decision extends Partial<Omit<WaitingDecision, 'what'>> {
  what: string;
  count: number;
  first: string;
}

/**
 * What needs an operator's decision, most urgent first.
 * @param certificateEnd of the operator's own certificate for Content Credentials, if there is one
 */
export async function readDecisions(db: Queryable, certificateEnd: Date | undefined) {
  const [waiting, closed, unserved, routes, recovery] = await Promise.all([
    waitingDecisions(db),
    closedSubjects(db),
    unservedTasks(db, []),
    showRoutes(db),
    recoverySeconds(db),
  ]);
  const named = (what: string, names: string[]) =>
    names.map((first) => ({ what, count: 1, first }));
  const isExpiring =
    certificateEnd && certificateEnd.getTime() - Date.now() < CERTIFICATE_DAYS * 86_400_000;
  const found: Decision[] = [
    ...(recovery === undefined ? [] : named('recovery', ['database'])),
    ...named('closed', [...new Set(closed.map(({ subject }) => subject))]),
    ...named(
      'unserved',
      unserved.map(({ provider }) => provider),
    ),
    ...named(
      'route',
      routes.flatMap((route) => (route.is_served ? [] : [route.model])),
    ),
    ...waiting,
    ...(isExpiring ? named('certificate', [certificateEnd.toISOString().slice(0, 10)]) : []),
  ];
  return found.sort((a, b) => URGENCY.indexOf(a.what) - URGENCY.indexOf(b.what));
}

const URGENCY = [
  'recovery',
  'urgent reports',
  'held',
  'closed',
  'unserved',
  'route',
  'reports',
  'review',
  'mismatched',
  'disputed',
  'orphans',
  'webhooks',
  'certificate',
];
