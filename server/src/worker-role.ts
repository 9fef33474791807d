import { setTimeout as delay } from 'node:timers/promises';
import { forgetFutureRequests } from './accounts/admission.ts';
import { askForCancels } from './attempts/cancel-requests.ts';
import { createFirstSeen } from './attempts/find-job.ts';
import { deleteHistory } from './attempts/history.ts';
import { checkOrphans } from './attempts/orphans.ts';
import { startBillingJobs } from './billing/sweep.ts';
import type { Config } from './config/config.ts';
import type { Transaction } from './database/database.ts';
import { fewConnections } from './database/few-connections.ts';
import { followDatabaseMark } from './database/lineage.ts';
import { startInterval } from './kernel/interval.ts';
import { bringDueUpToDate } from './ledger/lots.ts';
import { sendDueMails, wakeMails } from './mail/outbox.ts';
import { createMeasurer } from './media/measure.ts';
import { pauseRefusedAccounts } from './moderation/account-pause.ts';
import { createModeration } from './moderation/moderate.ts';
import { eraseClosedAccounts } from './operator/erase.ts';
import { addressOf, forgetReporters } from './reports/reports.ts';
import { videoTask } from './requests/video-task.ts';
import type { Closers, ServiceParts } from './service-parts.ts';
import { deleteExpired } from './sign-in/deletion.ts';
import { makeExports } from './site/account/export.ts';
import { forgetFingerprints } from './storage/fingerprints.ts';
import { deleteMarked, markExpired } from './storage/objects.ts';
import { publicColumns, readOwned } from './tasks/task.ts';
import { hasTasks } from './tasks/task-listing.ts';
import { forgetUploads } from './uploads/uploads.ts';
import { wakeDeliveries } from './webhooks/claim.ts';
import { startWebhooks } from './webhooks/deliver.ts';
import { purgeDeliveries } from './webhooks/log.ts';
import { repairClockJump } from './worker/clock-jump.ts';
import { openJobTimes } from './worker/job-times.ts';
import { createSteps, instrumentedSteps, providerFor } from './worker/steps.ts';
import { createWorker, type Worker } from './worker/worker.ts';

/** Repairs the rows of other rooms than worker/ after the clock was set back. */
async function forgetFuture(tx: Transaction): Promise<void> {
  await forgetFutureRequests(tx);
  await wakeDeliveries(tx);
  await wakeMails(tx);
}

/** Periodic jobs start on the same ticks. Without a limit each would open a connection of its own. */
const UPKEEP_CONNECTIONS = 3;

/** The task worker, the providers and the periodic jobs, which the closers stop. */
export function buildWorker(
  config: Config,
  parts: ServiceParts,
  closers: Closers,
): Pick<Worker, 'start' | 'stopClaiming'> {
  const { db, log, scratch, providers } = parts;
  const monotonic = () => performance.now();
  const upkeepDb = fewConnections(db, UPKEEP_CONNECTIONS);
  const jobTimes = openJobTimes(upkeepDb);
  const measurer = createMeasurer({ scratch });
  const outputMeasurer = createMeasurer({ scratch, concurrency: 2 });
  const deps = { ...config, ...parts, reviewSeconds: config.moderation.reviewSeconds };
  const steps = createSteps({
    ...deps,
    moderation: createModeration(config.moderation, { ...deps, outbound: parts.webhookPost }),
    guardedFetch: parts.inputFetch,
    measurer,
    jobTimes,
    outputMeasurer,
    providerOf: (task) => providerFor(providers, task),
    monotonic,
    wallClock: () => Date.now(),
    firstSeen: createFirstSeen(monotonic),
    pause: (seconds) => delay(seconds * 1000),
  });
  let claimDeliveries = () => {}; // until the webhooks have started
  const worker = createWorker({
    ...parts,
    onDeliveries: () => claimDeliveries(),
    steps: instrumentedSteps(steps),
    onMoved: parts.waiting.tell,
  });
  const stops: Array<(seconds: number) => Promise<unknown>> = [(seconds) => worker.stop(seconds)];
  closers.push(() => Promise.all(stops.map((stop) => stop(config.shutdownSeconds))));
  const upkeep = new AbortController();
  const { signal } = upkeep;
  closers.push(async () => {
    upkeep.abort();
    await Promise.all([measurer.close(), outputMeasurer.close()]);
  });
  return {
    stopClaiming: () => worker.stopClaiming(),
    async start() {
      await scratch.maintain();
      const checkMark = followDatabaseMark({ ...config, db: upkeepDb, log, hasTasks });
      await checkMark();
      for (const provider of providers.values()) provider.start?.();
      await worker.start();
      const jobs = periodicJobs(config, { ...parts, db: upkeepDb }, signal);
      jobs.push(['database mark', 5, checkMark]);
      jobs.push(['times of jobs', 10, () => jobTimes.exchange()]);
      for (const [name, seconds, work] of jobs) startInterval(seconds, { name, log, signal }, work);
      const { billing, publicUrl } = parts;
      startBillingJobs({ db: upkeepDb, log, signal, billing, publicUrl });
      const webhooks = startWebhooks(
        {
          db,
          log,
          outbound: parts.webhookPost,
          taskOf: async ({ id, accountId }) => {
            const task = await readOwned(db, id, accountId, null);
            return task && videoTask(publicColumns(task), parts.links);
          },
          publicUrl,
        },
        signal,
      );
      claimDeliveries = webhooks.claim;
      stops.push(webhooks.settle);
    },
  };
}

/** `work` runs again this many seconds after its last run ended. */
type PeriodicJob = [name: string, seconds: number, work: () => Promise<unknown>];

function periodicJobs(config: Config, parts: ServiceParts, signal: AbortSignal): PeriodicJob[] {
  const { db, storage, log, providers } = parts;
  const { sendMail } = parts.mailer;
  const mailing = { db, log, sendMail, addressOf: (id: string) => addressOf(db, id) };
  const markAllExpired = async () => {
    for (let marked = 1; marked > 0 && !signal.aborted; ) marked = await markExpired(db);
  };
  const jobs: PeriodicJob[] = [
    ['database clock', 5, () => repairClockJump({ db, log, forgetFuture })],
    ['expiry', 5, markAllExpired],
    ['deleting', 5, () => deleteMarked({ db, storage })],
    ['mails', 5, () => sendDueMails(mailing)],
    ['expiring credits', 5, () => bringDueUpToDate({ db, log })],
    ['forgetting', 600, () => deleteExpired(db)],
    ['forgetting fingerprints', 60, () => forgetFingerprints(db, config.fingerprintDays)],
    ['forgetting uploads', 600, () => forgetUploads(db)],
    ['forgetting reporters', 600, () => forgetReporters(db, config.website.reportDays)],
    ['log of webhooks', 600, () => purgeDeliveries(db)],
    [
      'pausing accounts',
      5,
      () => pauseRefusedAccounts({ ...config.moderation, ...config.website, ...parts }),
    ],
    ['exports', 5, () => makeExports(parts)],
    ['erasing', 60, () => eraseClosedAccounts({ db, log })],
    ['cancels', 2, () => askForCancels({ db, log, providers })],
    ['orphan check', config.reconcileSeconds, () => checkOrphans({ db, log, providers })],
  ];
  const { historyDays } = config;
  if (historyDays !== undefined) {
    jobs.push(['history', 24 * 3600, () => deleteHistory(db, historyDays, signal)]);
  }
  return jobs;
}
