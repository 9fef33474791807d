import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { ignoringErrors } from '../../personal.ts';
import { useMode } from '../../session.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, ErrorState, Load } from '../../ui/states.tsx';
import { More, Table } from '../../ui/table.tsx';
import { FilterBar, type Filters, filtersOf, queryOf } from './filters.tsx';
import { usePolled, useReturningList } from './list.ts';
import { SelectionBar, useSelection } from './selection.tsx';
import { columnsOf, VideoCard } from './video-card.tsx';

const LEADS = {
  live: 'Every video of your account, created on this website or through the API.',
  test: 'Every test video, created on this website in test mode or with a test key. Each is kept for a day.',
};

export default function VideosPage() {
  const { query, route, url } = useLocation();
  const filters = filtersOf(query);
  const [isNew, setNew] = useState(false);
  return (
    <Page
      title="Videos"
      lead={LEADS[useMode()]}
      actions={
        !isNew && (
          <ButtonLink look="primary" icon="plus" href="/playground">
            New video
          </ButtonLink>
        )
      }
    >
      {!isNew && (
        <FilterBar
          filters={filters}
          onChange={(next, replace) => route(`/videos${queryOf(next)}`, replace)}
        />
      )}
      <Videos key={url} filters={filters} clear={() => route('/videos')} onNew={setNew} />
    </Page>
  );
}

interface VideosProps {
  filters: Filters;
  clear: () => void;
  /** Called with whether the account has no videos at all. */
  onNew: (isNew: boolean) => void;
}

function Videos({ filters, clear, onNew }: VideosProps) {
  const list = useReturningList(filters);
  const items = usePolled(list);
  const { selected, ...selection } = useSelection(items);
  const [view, setView] = useView();
  const isFiltered = Object.keys(filters).length > 0;
  const isNew = items?.length === 0 && !isFiltered && !list.hasMore;
  useEffect(() => onNew(isNew), [isNew]);
  return (
    <>
      <div aria-live="polite" class="sr-only">
        {isFiltered &&
          items &&
          `${items.length} video${items.length === 1 ? '' : 's'}${list.hasMore ? ' or more' : ''}`}
      </div>
      {items && items.length > 0 && <ViewButtons view={view} onChange={setView} />}
      <Load from={{ ...list, data: items }} skeleton={BLANKS}>
        {(videos) => {
          if (isNew) return FIRST_STEPS;
          if (videos.length === 0) return <NoMatch hasMore={list.hasMore} clear={clear} />;
          const props = { selection, onChange: list.reload };
          if (view === 'list') {
            return <Table caption="Videos" columns={columnsOf(props)} rows={videos} />;
          }
          const cards = videos.map((item) => (
            <li key={item.id}>
              <VideoCard item={item} {...props} />
            </li>
          ));
          return <ul class={GRID}>{cards}</ul>;
        }}
      </Load>
      {items !== undefined && list.error && <ErrorState error={list.error} />}
      <More list={list} />
      <SelectionBar selected={selected} onClear={selection.clear} onChange={list.reload} />
    </>
  );
}

const VIEWS = { grid: 'Grid', list: 'List' } as const;
type View = keyof typeof VIEWS;

/** The browser keeps the choice. */
function useView() {
  const kept = () =>
    ignoringErrors(() => localStorage.getItem('videos')) === 'list' ? 'list' : 'grid';
  const [view, setView] = useState<View>(kept);
  const choose = (next: View) => {
    setView(next);
    ignoringErrors(() => localStorage.setItem('videos', next));
  };
  return [view, choose] as const;
}

function ViewButtons({ view, onChange }: { view: View; onChange: (view: View) => void }) {
  return (
    <div role="group" aria-label="View" class="mb-4 flex justify-end gap-1.5">
      {(['grid', 'list'] as const).map((one) => (
        <Button
          key={one}
          small
          look={one === view ? 'primary' : 'plain'}
          aria-pressed={one === view}
          onClick={() => onChange(one)}
        >
          {VIEWS[one]}
        </Button>
      ))}
    </div>
  );
}

const GRID = 'grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-9 sm:grid-cols-2 lg:grid-cols-3';

const BLANKS = (
  <ul class={GRID}>
    {['a', 'b', 'c', 'd', 'e', 'f'].map((name) => (
      <li key={name}>
        <div aria-hidden="true">
          <div class="blank aspect-video" />
          <div class="blank mt-3 h-[1.3em] w-4/5" />
          <div class="blank mt-2 h-[1.2em] w-2/5" />
          <div class="blank mt-1 h-[1.2em] w-3/5" />
        </div>
      </li>
    ))}
  </ul>
);

function NoMatch({ hasMore, clear }: { hasMore: boolean; clear: () => void }) {
  return (
    <Empty
      title={hasMore ? 'Nothing among the newest videos' : 'No video matches'}
      action={<Button onClick={clear}>Clear filters</Button>}
    >
      {hasMore
        ? 'The search has not reached the oldest videos yet: “Show more” continues it.'
        : 'Change the filters, or clear them to see all videos.'}
    </Empty>
  );
}

const FIRST_STEPS = (
  <Empty
    title="No videos yet"
    action={
      <>
        <ButtonLink look="primary" icon="play" href="/playground">
          Make your first video
        </ButtonLink>
        <ButtonLink icon="key" href="/keys">
          Create an API key
        </ButtonLink>
      </>
    }
  >
    Write a prompt in the playground, or send a request to the API. Every video appears here with
    its status, its price and its request.
  </Empty>
);
