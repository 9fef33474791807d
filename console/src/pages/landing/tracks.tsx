import { Part } from './part.tsx';

interface Clip {
  words: string;
  /** Columns of the track, of twelve. */
  span: string;
  look: 'reserved' | 'captured' | 'refunded' | 'held';
}

const LOOKS = {
  reserved: 'border-edge bg-sheet text-ink',
  captured: 'border-tungsten bg-tungsten text-on-tungsten',
  refunded: 'border-dashed border-good text-good',
  held: 'border-edge bg-well text-ink',
} as const;

const TRACKS: { title: string; text: string; clips: Clip[] }[] = [
  {
    title: 'The video is stored',
    text: 'Only then are the credits charged.',
    clips: [
      { words: '250 reserved', span: 'col-span-9', look: 'reserved' },
      { words: '250 charged', span: 'col-span-3', look: 'captured' },
    ],
  },
  {
    title: 'It fails, at any point',
    text: 'All credits are refunded, automatically.',
    clips: [
      { words: '250 reserved', span: 'col-span-6', look: 'reserved' },
      { words: '250 refunded', span: 'col-span-3', look: 'refunded' },
    ],
  },
  {
    title: 'The connection to the provider breaks',
    text: 'The credits stay reserved until it is known what happened. Nothing is generated or charged twice.',
    clips: [
      { words: '250 reserved', span: 'col-span-4', look: 'reserved' },
      { words: 'being checked', span: 'col-span-4', look: 'held' },
      { words: 'charged or refunded', span: 'col-span-4', look: 'refunded' },
    ],
  },
];

const MOMENTS = ['accepted', 'media copied', 'generating', 'stored'];

/** What happens to the credits of a request, as the tracks of an edit. */
export function Tracks() {
  return (
    <Part
      mark="00:01"
      title="You always see where your credits are."
      text="An accepted request reserves its credits. Your statement lists each reserve, charge and refund."
    >
      <div class="hidden grid-cols-4 text-sm text-dim sm:grid" aria-hidden="true">
        {MOMENTS.map((moment) => (
          <span key={moment}>{moment}</span>
        ))}
      </div>
      <div class="ruler mt-1.5 hidden sm:block" aria-hidden="true" />
      <ul class="grid gap-7 sm:pt-5">
        {TRACKS.map(({ title, text, clips }) => (
          <li key={title}>
            <div class="grid grid-cols-12 gap-[3px]">
              {clips.map(({ words, span, look }) => (
                <span
                  key={words}
                  class={`figures flex h-11 items-center border px-2 text-xs sm:px-3 sm:text-sm ${span} ${LOOKS[look]}`}
                >
                  {words}
                </span>
              ))}
            </div>
            <p class="mt-2">
              <span class="font-medium">{title}.</span> <span class="text-dim">{text}</span>
            </p>
          </li>
        ))}
      </ul>
    </Part>
  );
}
