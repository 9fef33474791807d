import { useEffect, useRef, useState } from 'preact/hooks';
import { brand } from '../../brand.ts';
import { IconButton } from '../../ui/button.tsx';
import poster from './sample.jpg';
import sample from './sample.mp4';

const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

const PATTERN = {
  src: sample,
  poster,
  label: 'A sample: slow lights, and the words of its prompt',
  shape: 'aspect-[21/9] object-cover',
  caption: 'A lighthouse at dawn, waves below · 4 s · 21:9',
  note: 'test pattern of the local renderer, not an AI model',
};

/** The video that the operator has chosen; otherwise a test pattern, if that is what tasks make. */
export function Screening() {
  const { hero_video: page, shows_test_patterns: hasPattern } = brand;
  const [isGone, setGone] = useState(false);
  const chosen = {
    src: `${page}/video.mp4`,
    poster: `${page}/poster.webp`,
    label: 'A video made here',
    shape: 'aspect-video object-contain',
    caption: '',
    note: 'made here',
    onGone: () => setGone(true),
  };
  if (page && !isGone) return <Screen {...chosen} />;
  return hasPattern ? <Screen key="pattern" {...PATTERN} /> : null;
}

interface ScreenProps
  extends Record<'src' | 'poster' | 'label' | 'shape' | 'caption' | 'note', string> {
  /** Called if the chosen video is no longer shared. */
  onGone?: () => void;
}

/** With reduced motion, shows the poster and a button. */
function Screen({ src, poster, label, shape, caption, note, onGone }: ScreenProps) {
  const video = useRef<HTMLVideoElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const playhead = usePlayhead(video, isPlaying);
  const play = () => video.current?.play().catch(() => {});
  useEffect(() => {
    if (!reducedMotion.matches) void play();
  }, []);
  return (
    <figure class="mt-14 sm:mt-20">
      <div class="cropped">
        <video
          ref={video}
          src={src}
          poster={poster}
          width={840}
          height={360}
          muted
          loop
          playsInline
          preload="auto"
          aria-label={label}
          onError={onGone}
          onPlay={() => setPlaying(true)}
          onPause={() => setPlaying(false)}
          class={`block w-full bg-black ${shape}`}
        />
      </div>
      <div class="relative mt-5" aria-hidden="true">
        <div class="ruler" />
        <div ref={playhead} class="absolute top-0 left-0 h-[9px] w-[3px] bg-tungsten" />
      </div>
      <figcaption class="edge-print mt-2 flex flex-wrap items-center justify-between gap-x-8">
        <span>{caption}</span>
        <span class="inline-flex items-center gap-2">
          {note}
          <IconButton
            icon={isPlaying ? 'pause' : 'play'}
            label={isPlaying ? 'Pause the sample' : 'Play the sample'}
            onClick={() => (isPlaying ? video.current?.pause() : void play())}
          />
        </span>
      </figcaption>
    </figure>
  );
}

function usePlayhead(video: { current: HTMLVideoElement | null }, isPlaying: boolean) {
  const playhead = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isPlaying) return;
    let request = 0;
    const move = () => {
      const { currentTime = 0, duration = 1 } = video.current ?? {};
      const share = Number.isFinite(duration) ? currentTime / duration : 0;
      if (playhead.current) playhead.current.style.left = `${share * 100}%`;
      request = requestAnimationFrame(move);
    };
    move();
    return () => cancelAnimationFrame(request);
  }, [isPlaying]);
  return playhead;
}
