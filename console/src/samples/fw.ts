import { packageUrl } from './packages.ts';

/** Options of `fw generate`, by field; a mode follows from them. */
const OPTIONS: Record<string, string> = {
  image_url: '--image',
  end_image_url: '--end-image',
  reference_image_urls: '--reference',
  reference_video_urls: '--reference',
  model: '--model',
  resolution: '--resolution',
  duration: '--duration',
  aspect_ratio: '--aspect-ratio',
  seed: '--seed',
};

/**
 * A video by the command line: the text that its tests run.
 * @param apiUrl with /api/v1
 * @param body of a create
 */
export function fwSample(apiUrl: string, body: Readonly<Record<string, unknown>>): string {
  return `# npm install --global ${packageUrl(apiUrl, 'cli')}
fw login --base-url ${apiUrl}

# It shows the price and asks. After a crash, fw resume goes on: it is never charged twice.
fw generate ${[...fwWords(body), '-o video.mp4'].join(' \\\n  ')}`;
}

/** The body of a create as the words of a command. */
export function fwWords(body: Readonly<Record<string, unknown>>): string[] {
  const { prompt, generate_audio: hasAudio, reference_video_durations: seconds } = body;
  const given = Object.entries(OPTIONS).flatMap(([field, option]) => {
    const values = [body[field] ?? []].flat();
    const isVideo = field === 'reference_video_urls' && Array.isArray(seconds);
    return values.map((value, i) => {
      return `${option} ${shellText(isVideo ? `${value}#${seconds[i]}` : String(value))}`;
    });
  });
  const sound = hasAudio === false ? ['--no-audio'] : [];
  return [shellText(String(prompt)), ...given, ...sound];
}

/** A text as one word of a shell. */
function shellText(text: string): string {
  return /^[\w.,:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
