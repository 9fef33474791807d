import { GRACE_DAYS } from '../../src/ledger/lot-book.ts';

/** One credit of the model. */
interface Unit {
  /** The number of its grant. */
  grant: number;
  /** In days of the model's clock; Infinity if it never expires. */
  expiresAt: number;
  /** Older units go first among those that expire at the same time. */
  age: number;
  isGrace: boolean;
  state: 'available' | 'reserved' | 'spent' | 'gone';
  task: number;
}

/**
 * Lots and debts of one balance in the simplest way: each credit is an object, and what expires
 * is gone at once.
 */
export class LotModel {
  debt = 0;
  #units: Unit[] = [];
  #day = 0;
  #age = 0;
  #grants: { credits: number; takenBack: number }[] = [];
  #tasks = new Map<number, 'open' | 'settled'>();

  get available(): number {
    return this.#in('available').length;
  }

  get reserved(): number {
    return this.#in('reserved').length;
  }

  wait(days: number): void {
    this.#day += days;
    this.#expire();
  }

  grant(credits: number, days = Number.POSITIVE_INFINITY): void {
    const grant = this.#grants.push({ credits, takenBack: 0 }) - 1;
    this.#age += 1;
    const unit = { grant, expiresAt: this.#day + days, age: this.#age, isGrace: false, task: -1 };
    for (let i = 0; i < credits; i += 1) this.#units.push({ ...unit, state: 'available' });
    this.#payDebt();
  }

  reserve(task: number, credits: number): boolean {
    if (this.#tasks.has(task) || credits > this.available) return false;
    this.#tasks.set(task, 'open');
    for (const unit of this.#take(credits)) Object.assign(unit, { state: 'reserved', task });
    return true;
  }

  settle(task: number, outcome: 'capture' | 'refund'): boolean {
    if (this.#tasks.get(task) !== 'open') return false;
    this.#tasks.set(task, 'settled');
    this.#age += 1;
    for (const unit of this.#in('reserved').filter((one) => one.task === task)) {
      unit.state = outcome === 'capture' ? 'spent' : 'available';
      if (outcome === 'refund' && unit.expiresAt <= this.#day) this.#giveGrace(unit);
    }
    this.#payDebt();
    this.#expire();
    return true;
  }

  adjustDown(credits: number): boolean {
    if (credits > this.available) return false;
    for (const unit of this.#take(credits)) unit.state = 'spent';
    return true;
  }

  clawBack(number: number, credits: number): boolean {
    const grant = this.#grants[number];
    const expired = this.#in('gone').filter((unit) => unit.grant === number).length;
    if (!grant || credits > grant.credits - grant.takenBack - expired) return false;
    grant.takenBack += credits;
    const order = (unit: Unit) => {
      const expires = unit.expiresAt < Number.POSITIVE_INFINITY;
      if (expires && unit.grant === number) return 0;
      return expires ? 2 : 1;
    };
    const taken = this.#take(credits, order);
    for (const unit of taken) unit.state = 'spent';
    this.debt += credits - taken.length;
    return true;
  }

  #in(state: Unit['state']): Unit[] {
    return this.#units.filter((unit) => unit.state === state);
  }

  #take(credits: number, order: (unit: Unit) => number = () => 0): Unit[] {
    const sorted = this.#in('available').sort((one, other) => {
      if (order(one) !== order(other)) return order(one) - order(other);
      if (one.expiresAt !== other.expiresAt) return one.expiresAt < other.expiresAt ? -1 : 1;
      return one.age - other.age;
    });
    return sorted.slice(0, credits);
  }

  #giveGrace(unit: Unit): void {
    unit.expiresAt = unit.isGrace ? this.#day : this.#day + GRACE_DAYS;
    unit.isGrace = true;
    unit.age = this.#age;
  }

  #payDebt(): void {
    const paid = this.#take(this.debt);
    for (const unit of paid) unit.state = 'spent';
    this.debt -= paid.length;
  }

  #expire(): void {
    for (const unit of this.#in('available')) if (unit.expiresAt <= this.#day) unit.state = 'gone';
  }
}
