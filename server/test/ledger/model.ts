import type { CreditKind } from '../../src/ledger/transfer.ts';

/** A request for one movement. References and tasks are small numbers, so they repeat. */
export type LedgerCommand =
  | { type: 'grant'; kind: CreditKind; credits: number; reference: number }
  | { type: 'adjust'; kind: CreditKind; credits: number; reference: number }
  | { type: 'reserve'; task: number; credits: number }
  | { type: 'capture' | 'refund'; task: number };

/** booked: now; repeated: booked before, with the same values; refused: no credits moved. */
export type LedgerResult = 'booked' | 'repeated' | 'refused';

/** The ledger of one account as a single thread would keep it, in the simplest way. */
export class LedgerModel {
  balances = { paid: { available: 0, reserved: 0 }, promotional: { available: 0, reserved: 0 } };
  #booked = new Map<string, string>();
  #reserved = new Map<number, number>();

  apply(command: LedgerCommand): LedgerResult {
    switch (command.type) {
      case 'grant':
      case 'adjust':
        return this.#bookOnce(command);
      case 'reserve':
        return this.#reserve(command);
      case 'capture':
      case 'refund':
        return this.#settle(command);
    }
  }

  /** The credits reserved for a task; undefined without a reservation. */
  reservedFor(task: number): number | undefined {
    return this.#reserved.get(task);
  }

  #bookOnce(command: Extract<LedgerCommand, { kind: CreditKind }>): LedgerResult {
    const { type, kind, credits, reference } = command;
    const before = this.#booked.get(`${type}:${reference}`);
    const values = `${kind} ${credits}`;
    if (before !== undefined) return before === values ? 'repeated' : 'refused';
    const balance = this.balances[kind];
    if (balance.available + credits < 0) return 'refused';
    balance.available += credits;
    this.#booked.set(`${type}:${reference}`, values);
    return 'booked';
  }

  #reserve({ task, credits }: Extract<LedgerCommand, { type: 'reserve' }>): LedgerResult {
    const { paid } = this.balances;
    if (this.#booked.has(`reserve:${task}`) || credits > paid.available) return 'refused';
    paid.available -= credits;
    paid.reserved += credits;
    this.#booked.set(`reserve:${task}`, '');
    this.#reserved.set(task, credits);
    return 'booked';
  }

  #settle({ type, task }: { type: 'capture' | 'refund'; task: number }): LedgerResult {
    const credits = this.#reserved.get(task);
    if (credits === undefined) return 'refused';
    const { paid } = this.balances;
    paid.reserved -= credits;
    if (type === 'refund') paid.available += credits;
    this.#reserved.delete(task);
    return 'booked';
  }
}
