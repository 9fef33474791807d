import { useEffect, useState } from 'preact/hooks';

interface PlayerProps {
  /** A new id means another video. */
  id: string;
  src: string;
  poster?: string | null | undefined;
  /** In pixels; only the ratio is used. */
  width?: number | undefined;
  height?: number | undefined;
  label: string;
}

/**
 * Plays a video in a frame of its aspect ratio. Each read of a task brings a new signed link: the
 * first one is used until it fails, so that a refresh does not restart the video.
 */
export function Player({ id, src, poster, width, height, label }: PlayerProps) {
  const [kept, setKept] = useState({ id, src });
  useEffect(() => {
    setKept((before) => (before.id === id ? before : { id, src }));
  }, [id, src]);
  const shape = `${width ?? 16} / ${height ?? 9}`;
  const [firstPoster] = useState(poster);
  return (
    <div class="cropped bg-black">
      {/* biome-ignore lint/a11y/useMediaCaption: generated videos have no captions */}
      <video
        controls
        playsInline
        preload={firstPoster ? 'none' : 'metadata'}
        poster={firstPoster ?? undefined}
        src={kept.src}
        aria-label={label}
        style={{ aspectRatio: shape }}
        class="mx-auto block max-h-[72vh] w-full"
        onError={() => setKept((before) => (before.src === src ? before : { id, src }))}
      />
    </div>
  );
}
