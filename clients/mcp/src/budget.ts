import type { VideoTask } from '@framewright/client';

/** The session's limit is spent. No credit was charged for the refused call. */
export class BudgetError extends Error {
  constructor(needed: number, left: number, limit: number) {
    super(
      `This video costs ${needed} credits, and ${left} of the ${limit} credits of this session ` +
        'are left (--max-credits). Charged: nothing. Ask the user before you go on.',
    );
    this.name = 'BudgetError';
  }
}

/**
 * What a session may still spend, in credits. A video counts once, however often it is asked for,
 * until it is known that it was not charged, or that it failed: then it was refunded.
 */
export class Budget {
  readonly #limit: number;
  /** The credits of each request_id. */
  readonly #spent = new Map<string, number>();
  /** The request_id of each task. */
  readonly #requests = new Map<string, string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get left(): number {
    return this.#limit - [...this.#spent.values()].reduce((sum, credits) => sum + credits, 0);
  }

  /**
   * Takes the credits of a video.
   * @returns false if they are taken already: its request_id was used before
   * @throws BudgetError if less than these credits are left
   */
  take(requestId: string, credits: number): boolean {
    if (this.#spent.has(requestId)) return false;
    if (credits > this.left) throw new BudgetError(credits, this.left, this.#limit);
    this.#spent.set(requestId, credits);
    return true;
  }

  giveBack(requestId: string): void {
    this.#spent.delete(requestId);
  }

  /** Notes which task a request became. */
  created(requestId: string, task: VideoTask): void {
    this.#requests.set(task.id, requestId);
    this.seen(task);
  }

  /** Notes the state of a task: a failed one gives its credits back. */
  seen({ id, status }: VideoTask): void {
    const requestId = this.#requests.get(id);
    if (status === 'failed' && requestId !== undefined) this.giveBack(requestId);
  }
}
