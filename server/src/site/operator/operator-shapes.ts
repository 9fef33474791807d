import type { listKeys } from '../../accounts/api-keys.ts';
import type { RecentMinute } from '../../http/operations/recent-minutes.ts';
import type { CreditOverview } from '../../ledger/overview.ts';
import type { PagedMovement } from '../../ledger/statements/movement-page.ts';
import type { CreditKind } from '../../ledger/transfer.ts';
import type { AccountListing, showAccount } from '../../operator/account-listing.ts';
import type { waysIn } from '../../operator/accounts/signing-out.ts';
import type { ActionListing } from '../../operator/actions.ts';
import type { AuditRun } from '../../operator/audit-runs/audit-runs.ts';
import type { OrderListing, showOrder } from '../../operator/billing/order-listing.ts';
import type { Figures } from '../../operator/figures.ts';
import type { OrphanListing } from '../../operator/orphan-listing.ts';
import type { ProviderListing } from '../../operator/pausing.ts';
import type { HeldSelection } from '../../operator/reconcile-held.ts';
import type { TaskListing } from '../../operator/task-listing.ts';
import type { AsJson } from '../route.ts';

// What the routes of the operator's console send, as their JSON.

/** The address of an account; null: the account is erased. */
interface OfAccount {
  email: string | null;
}

export type OperatorTaskRow = AsJson<TaskListing> & OfAccount & { due_at?: string };
export interface OperatorHeld extends Omit<HeldSelection, 'tasks'> {
  tasks: (AsJson<HeldSelection['tasks'][number]> & OfAccount)[];
}
/** With its available credits. */
export type OperatorAccountRow = AsJson<AccountListing> & {
  available: Record<CreditKind, number>;
};
export type OperatorActionRow = AsJson<ActionListing>;
export type OperatorOrphan = AsJson<OrphanListing>;
export type OperatorAudit = AsJson<AuditRun>;
/** `what`: in the words that the customer reads. */
export type OperatorMovement = AsJson<PagedMovement & { what: string; order_id: string | null }>;
/** Amounts are in the smallest unit of the currency. */
export type OperatorOrder = AsJson<OrderListing> & OfAccount;
export type OperatorOrderDetails = AsJson<Awaited<ReturnType<typeof showOrder>>> & OfAccount;

export interface OperatorProviders {
  /** `is_configured`: in the process that answered. `is_default`: it gets new tasks. */
  items: (AsJson<ProviderListing> & { is_configured: boolean; is_default: boolean })[];
  /** Whether creates of all accounts are paused. */
  creates: 'open' | 'paused';
  since: string | null;
  reason: string | null;
}

export type OperatorAccount = AsJson<
  Awaited<ReturnType<typeof showAccount>> &
    Awaited<ReturnType<typeof waysIn>> & {
      lots: CreditOverview['lots'];
      keys: Awaited<ReturnType<typeof listKeys>>;
      actions: ActionListing[];
    }
>;

export interface OperatorFigures {
  /** Of the whole database, now. */
  now: Omit<Figures, 'reconciled' | 'unserved' | 'deleting'>;
  /** Of the process that answered, the oldest first. */
  minutes: RecentMinute[];
}

interface OperatorEvidence {
  source: string;
  finding: Record<string, unknown>;
  times: number;
  first_at: string;
  last_at: string;
}

export interface OperatorAttempt {
  id: string;
  provider: string;
  state: string;
  job_id: string | null;
  send_before: string;
  created_at: string;
  outcome_at: string | null;
  outcome_by: string | null;
  cause: unknown;
  evidence: OperatorEvidence[];
}

export interface OperatorTask extends OfAccount {
  id: string;
  account_id: string;
  surface: string;
  phase: string;
  held_cause: string | null;
  request: Record<string, unknown>;
  credits: number;
  provider: string;
  due_at: string | null;
  leased_until: string | null;
  error_code: string | null;
  error_message: string | null;
  output_object_id: string | null;
  created_at: string;
  updated_at: string;
  archived_at?: string;
  attempts: OperatorAttempt[];
  history: { at: string; phase: string; cause: unknown }[];
  objects: {
    id: string;
    role: string;
    state: string;
    size_bytes: number | null;
    taken_down_at: string | null;
  }[];
  orphan_jobs: { provider: string; job_id: string; state: string }[];
}
