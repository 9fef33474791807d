import { useEffect } from 'preact/hooks';
import { request } from '../../api.ts';
import { useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, prose, TableCard } from '../../ui/table.tsx';
import { OperatorPage } from './frame.tsx';

type SetUp = Result<'GET /console/api/operator/set-up'>;
type Line = SetUp['checks'][number];

const TONES = { ok: 'good', 'to do': 'bad', 'not checked': 'neutral' } as const;

/** What is left to set up; the same checks as the command `doctor`. */
export function SetUpPage() {
  const loaded = useLoad('/console/api/operator/set-up');
  useEffect(() => {
    void visit(loaded.data).then((isFromOutside) => {
      if (isFromOutside) return loaded.reload();
    });
  }, [loaded.data !== undefined]);
  return (
    <OperatorPage
      title="Set-up"
      lead="Each thing between a fresh server and the first paid video, checked just now."
      actions={
        <Button icon="refresh" busy={loaded.isLoading} onClick={() => void loaded.reload()}>
          Check again
        </Button>
      }
    >
      <Load from={loaded} skeleton={<Skeleton lines={16} />}>
        {({ ready_to_sell: isReady, checks }) => (
          <TableCard
            title={isReady ? 'Ready to sell' : `Not ready to sell: ${leftOf(checks)}`}
            caption="Checks"
            rows={checks}
            keyOf={({ check }) => check}
            columns={COLUMNS}
          />
        )}
      </Load>
    </OperatorPage>
  );
}

const COLUMNS: Column<Line>[] = [
  column('State', ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>),
  prose('Check', ({ check }) => <span class="font-medium">{check}</span>),
  prose('Found', ({ found, todo }) => (
    <div class="min-w-0">
      <p>{found}</p>
      {todo && <p class="text-dim">{linked(todo)}</p>}
    </div>
  )),
];

function leftOf(checks: Line[]): string {
  const count = (state: Line['state']) => checks.filter((line) => line.state === state).length;
  return `${count('to do')} to do, ${count('not checked')} not checked`;
}

const LINKS = /(https?:\/\/\S+|docs\/operators\/[\w-]+\.md(?:#[\w-]+)?)/;

/** Addresses and operators' pages become links. */
function linked(text: string) {
  return text.split(LINKS).map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      <Link key={part} href={addressOf(part)}>
        {part}
      </Link>
    ),
  );
}

function addressOf(named: string): string {
  return named
    .replace('docs/operators/README', '/docs/operations/overview')
    .replace('docs/operators/', '/docs/operations/')
    .replace(/\.md(?=#|$)/, '');
}

/** Opens the link that checks reachability. @returns whether this browser is outside the network */
async function visit(setUp: SetUp | undefined): Promise<boolean> {
  const line = setUp?.checks.find(({ check }) => check === 'reached from outside');
  if (!setUp || line?.state !== 'not checked') return false;
  const url = new URL(setUp.visit_url);
  if (url.origin !== location.origin) return false;
  const visited = await request('GET', url.pathname + url.search).catch(() => undefined);
  return Object(visited).is_from_outside === true;
}
