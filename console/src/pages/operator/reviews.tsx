import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Credits, labelOf, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column, column, prose } from '../../ui/table.tsx';
import { AccountLink, AskButton, Id, ListPage } from './frame.tsx';

type Review = Item<'GET /console/api/operator/reviews'>;

/** Requests that an operator must allow before they are submitted. */
export function ReviewsPage() {
  return (
    <ListPage
      title="Reviews"
      lead="Requests that wait for you before they are submitted, the longest waiting first."
      list={useList('/console/api/operator/reviews')}
      empty={<Empty title="Nothing waits for a review" />}
      columns={REVIEWS}
    />
  );
}

const REVIEWS: Column<Review>[] = [
  prose('Request', (review) => (
    <div class="text-left">
      <Cell below={<Request review={review} />}>
        <span class="whitespace-pre-wrap">{review.prompt}</span>
      </Cell>
    </div>
  )),
  prose('Why', ({ source, reason }) => (
    <Cell below={source === 'words' ? 'list of words' : source}>{reason ?? 'no reason'}</Cell>
  )),
  column('Waiting', ({ in_review_since: since }) => <RelativeTime at={since} />),
  prose('Account', (review) => <AccountLink row={review} />),
  column('', ({ id }) => (
    <div class="flex gap-1.5 md:justify-end">
      <AskButton small item={id} change={{ verb: 'reviews allow', given: { id } }}>
        Allow
      </AskButton>
      <AskButton small item={id} change={{ verb: 'reviews deny', given: { id } }}>
        Deny
      </AskButton>
    </div>
  )),
];

/** The facts below the prompt. Files open on request only, since they may show something disturbing. */
function Request({ review: { id, model, mode, credits, files } }: { review: Review }) {
  return (
    <>
      {model}, {mode}, <Credits value={credits} /> credits
      <br />
      <Id href={`/operator/tasks/${id}`} id={id} />
      {files.map(({ field, entry, url }) => (
        <span key={url} class="block">
          <a href={url} target="_blank" rel="noreferrer" class="inline-block py-1 underline">
            {labelOf(field.replace(/_urls?$/, ''))}
            {entry !== null && ` ${entry + 1}`}
          </a>
        </span>
      ))}
    </>
  );
}
