import { Badge } from './badge.tsx';

/** Says that what is bought here costs nothing. */
export function SimulatedPayments() {
  return (
    <p role="note" class="mb-5 flex flex-wrap items-center gap-3 text-dim">
      <Badge tone="busy">Simulated payments</Badge>
      No money is taken. Pay with a test card of Stripe.
    </p>
  );
}
