import { useLoad } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Load } from '../../ui/states.tsx';

export type Decision = Item<'GET /console/api/operator/decisions'>;

/** The text of each kind of decision, and the page where it is made. */
const KINDS: Record<string, (decision: Decision) => [words: string, href: string]> = {
  recovery: () => ['The database was restored: nothing is claimed', '/operator/set-up'],
  held: ({ count, first }) => [
    `${tasks(count)} held: what became of the job?`,
    count === 1 ? `/operator/tasks/${first}` : '/operator/tasks/held',
  ],
  closed: ({ first }) => [`${first} takes no jobs`, '/operator/providers'],
  unserved: ({ first }) => [
    `Tasks wait for ${first}, a connection that no running worker has`,
    '/operator/providers',
  ],
  route: ({ first }) => [`No running worker serves the route of ${first}`, '/operator/providers'],
  review: ({ count }) => [`${tasks(count)} waiting for a review`, '/operator/reviews'],
  'urgent reports': (reports) => [
    `${plural(reports.count, 'report')} of videos to decide within 48 hours`,
    reportsAt(reports),
  ],
  reports: (reports) => [
    `${plural(reports.count, 'report')} of videos to decide`,
    reportsAt(reports),
  ],
  mismatched: ({ count, first }) => [
    `${plural(count, 'order')} paid without credits`,
    count === 1 ? `/operator/orders/${first}` : '/operator/orders?state=mismatched',
  ],
  disputed: ({ count, first }) => [
    `${plural(count, 'disputed payment')} to answer at Stripe`,
    count === 1 ? `/operator/orders/${first}` : '/operator/orders?disputed=yes',
  ],
  orphans: ({ count }) => [`${plural(count, 'orphan job')} to check`, '/operator/orphans'],
  webhooks: ({ count, account_id: id, email }) => [
    count === 1
      ? `A webhook endpoint of ${email ?? id} is failing`
      : `${count} more webhook endpoints are failing`,
    `/operator/accounts/${id}`,
  ],
  certificate: ({ first }) => [`The signing certificate expires on ${first}`, '/operator/set-up'],
};

const reportsAt = ({ count, first }: Decision) =>
  count === 1 ? `/operator/reports/${first}` : '/operator/reports';
const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
const tasks = (count: number) => plural(count, 'task');

export function useDecisions() {
  return useLoad('/console/api/operator/decisions');
}

/** How many decisions wait on the page at an address and on those below it; on the overview, all. */
export function countAt(items: Decision[] | undefined, href: string): number {
  const here = (items ?? []).filter((decision) => {
    const [, at] = KINDS[decision.what]?.(decision) ?? ['', ''];
    return href === '/operator' || at.replace(/\?.*/, '') === href || at.startsWith(`${href}/`);
  });
  return here.reduce((sum, { count }) => sum + count, 0);
}

export function Decisions() {
  return (
    <Card title="Needs your decision">
      <Load from={useDecisions()}>
        {({ items }) =>
          items.length === 0 ? (
            <Badge tone="good">Nothing waits for you.</Badge>
          ) : (
            <ul class="grid">
              {items.map((decision) => (
                <Line key={`${decision.what} ${decision.first}`} decision={decision} />
              ))}
            </ul>
          )
        }
      </Load>
    </Card>
  );
}

function Line({ decision }: { decision: Decision }) {
  const [words, href] = KINDS[decision.what]?.(decision) ?? [decision.what, '/operator'];
  return (
    <li class="border-t border-line first:border-0">
      <a href={href} class="flex items-baseline gap-4 py-2.5 hover:bg-well">
        <span aria-hidden="true" class="h-3 w-[5px] flex-none bg-bad" />
        <span class="min-w-0 [overflow-wrap:anywhere] underline decoration-edge underline-offset-[3px]">
          {words}
        </span>
      </a>
    </li>
  );
}
