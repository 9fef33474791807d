import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Empty, Load } from '../../ui/states.tsx';
import { type Column, column, prose, TableCard } from '../../ui/table.tsx';
import { AskButton, Id, OperatorPage, Recorded } from './frame.tsx';

type Found = Result<'GET /console/api/operator/verbs/find'>['found'][number];

/** Search results for `?text=`. */
export function FindPage() {
  const { query, route } = useLocation();
  const { text = '' } = query;
  const showOrder = (found: object) =>
    route(`/operator/orders/${(found as { order_id: string }).order_id}`);
  return (
    <OperatorPage title="Find" lead={<span class="break-all">{text}</span>} onDone={showOrder}>
      {text ? <Results text={text} /> : <Empty title="Enter what a customer quoted" />}
    </OperatorPage>
  );
}

/** An invoice, payment, charge or dispute: a worker can ask which order it belongs to. */
const OF_STRIPE = /^(in|pi|ch|py|dp|du)_/;

/** A single result with a page opens at once. */
function Results({ text }: { text: string }) {
  const { route } = useLocation();
  const loaded = useLoad('/console/api/operator/verbs/find', { query: { text } });
  const [only, another] = loaded.data?.found ?? [];
  useEffect(() => {
    if (only?.page && !another) route(only.page, true);
  }, [only]);
  return (
    <Load from={loaded}>
      {({ found }) =>
        found.length === 0 ? (
          <Empty
            title="Nothing has this id"
            action={
              OF_STRIPE.test(text) && (
                <AskButton
                  change={{ verb: 'orders settle', title: 'Ask Stripe', given: { id: text } }}
                >
                  Ask Stripe
                </AskButton>
              )
            }
          >
            Only whole ids and addresses are found. Of requests (req_…), only those that made a task
            are: the others appear only in the log.
          </Empty>
        ) : (
          <TableCard title="Found" rows={found} keyOf={keyOf} columns={COLUMNS} />
        )
      }
    </Load>
  );
}

const keyOf = ({ what, id, account_id: account }: Found) => `${what} ${id} ${account}`;

const COLUMNS: Column<Found>[] = [
  column('What', ({ what }) => what),
  prose('Where', ({ page, id }) => (page ? <Id href={page} id={id} /> : id)),
  prose('Whose', ({ email, account_id: id }) => email ?? <Recorded value={id} />),
];
