import type { ComponentChildren } from 'preact';

/** A part of the first page: the words at the left, what they are about at the right. */
export function Part({
  mark,
  title,
  text,
  children,
}: {
  /** Where it stands on the timeline of the page. */
  mark: string;
  title: string;
  text: string;
  children: ComponentChildren;
}) {
  return (
    <section class="mx-auto max-w-[76rem] px-4 pt-24 sm:px-8 sm:pt-36">
      <div class="grid gap-x-16 gap-y-9 lg:grid-cols-[minmax(0,5fr)_minmax(0,8fr)]">
        <div>
          <p class="edge-print mb-3" aria-hidden="true">
            {mark}
          </p>
          <h2 class="text-title">{title}</h2>
          <p class="mt-4 max-w-[44ch] text-dim">{text}</p>
        </div>
        <div class="min-w-0">{children}</div>
      </div>
    </section>
  );
}
