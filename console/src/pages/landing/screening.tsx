import { useEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from '../../ui/button.tsx';
import poster from './sample.jpg';
import sample from './sample.mp4';

const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

/** With reduced motion, shows the video's first frame and a button. */
export function Screening() {
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
          src={sample}
          poster={poster}
          width={840}
          height={360}
          muted
          loop
          playsInline
          preload="auto"
          aria-label="A sample: slow lights, and the words of its prompt"
          onPlay={() => setPlaying(true)}
          onPause={() => setPlaying(false)}
          class="block aspect-[21/9] w-full bg-black object-cover"
        />
      </div>
      <div class="relative mt-5" aria-hidden="true">
        <div class="ruler" />
        <div ref={playhead} class="absolute top-0 left-0 h-[9px] w-[3px] bg-tungsten" />
      </div>
      <figcaption class="edge-print mt-2 flex flex-wrap items-center justify-between gap-x-8">
        <span>A lighthouse at dawn, waves below · 4 s · 21:9</span>
        <span class="inline-flex items-center gap-2">
          test pattern of the local renderer, not an AI model
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
