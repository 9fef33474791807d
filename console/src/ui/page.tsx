import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { brand } from '../brand.ts';

/** @param title empty: the window shows only the name of the installation */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? brand.name : `${title} – ${brand.name}`;
  }, [title]);
}

/** At most four lines, three on wide windows, with room for descenders. */
const TITLE = '-mb-1 line-clamp-4 pb-1 sm:line-clamp-3';
const TITLE_ROOM = 'min-h-[calc(4lh+0.25rem)] sm:min-h-[calc(3lh+0.25rem)]';

interface PageProps {
  title: string;
  /** Above the title, so that the title's height does not shift it. */
  above?: ComponentChildren;
  /** Reserves room for a longer title that arrives with the data. */
  isTitleComing?: boolean;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** The shell moves the focus to the title on navigation. */
export function Page({ title, lead, actions, isTitleComing = false, above, children }: PageProps) {
  useTitle(title);
  return (
    <div class="mx-auto w-full max-w-[76rem] px-4 pt-9 pb-20 sm:px-8 sm:pt-14">
      {above}
      <header class="mb-8 flex flex-wrap items-end justify-between gap-x-8 gap-y-5 sm:mb-11">
        <div class={`max-w-[62ch] min-w-0 ${isTitleComing ? 'w-full' : ''}`}>
          <h1 tabIndex={-1} class={`text-title ${TITLE} ${isTitleComing ? TITLE_ROOM : ''}`}>
            {title}
          </h1>
          {lead && <p class="mt-3 text-lg text-dim">{lead}</p>}
        </div>
        {actions && <div class="flex flex-wrap gap-2.5">{actions}</div>}
      </header>
      <div class="grid grid-cols-[minmax(0,1fr)] gap-6">{children}</div>
    </div>
  );
}
