import {
  AV_CHANNEL_LAYOUT_STEREO,
  AV_SAMPLE_FMT_FLTP,
  Encoder,
  FF_ENCODER_AAC,
  FF_ENCODER_LIBX264,
  Frame,
  Muxer,
  Rational,
} from 'node-av';

/** The audio: two planes of 32-bit floats for the requested samples. */
export interface Sound {
  samplesPerSecond: number;
  samples: (firstSample: number, count: number) => Buffer;
}

const KEYFRAME_SECONDS = 2;

/** The same on every machine, because the number of threads changes the bytes. */
const ENCODER_THREADS = 2;
const AAC_FRAME_SAMPLES = 1024;
const STEREO_SAMPLE_BYTES = 8;

/**
 * Writes frames, and sound of exactly the same length, as an MP4 that can start to play before it
 * is fully downloaded. Keeps only the frames that the encoder looks ahead at. Frees each frame.
 */
export async function writeMp4(
  path: string,
  frames: AsyncIterable<Frame>,
  framesPerSecond: number,
  sound: Sound | null,
): Promise<void> {
  await using muxer = await Muxer.open(path, {
    format: 'mp4',
    options: { movflags: '+faststart' },
  });
  const video = track(muxer, await videoEncoder(framesPerSecond));
  const audio = sound && soundTrack(track(muxer, await audioEncoder()), sound);
  let tick = 0;
  for await (const received of frames) {
    using frame = received;
    frame.timeBase = new Rational(1, framesPerSecond);
    frame.pts = BigInt(tick);
    frame.duration = 1n;
    await video.write(frame);
    tick++;
    await audio?.writeUntil(tick / framesPerSecond);
  }
  await video.finish(BigInt(tick));
  await audio?.finish();
}

/** One stream of the file. Times are in units of its encoder's time base. */
interface Track {
  write: (frame: Frame) => Promise<void>;
  /** Writes what the encoder has buffered and cuts the stream at `length`. */
  finish: (length: bigint) => Promise<void>;
}

function track(muxer: Muxer, encoder: Encoder): Track {
  const index = muxer.addStream(encoder);
  const encode = async (frame: Frame | null, length: bigint | null) => {
    for await (const packet of encoder.packets(frame)) {
      if (packet === null) return;
      const over = length === null ? 0n : packet.pts + packet.duration - length;
      if (over > 0n) packet.duration -= over;
      await muxer.writePacket(packet, index);
      packet.free();
    }
  };
  const finish = async (length: bigint) => {
    await encode(null, length);
    await muxer.writePacket(null, index);
    encoder.close();
  };
  return { write: (frame) => encode(frame, null), finish };
}

/** AAC frames have 1024 samples: pads the last one with silence, then cuts its duration. */
function soundTrack(track: Track, sound: Sound) {
  let written = 0;
  const write = async (samples: Buffer, count: number) => {
    using frame = Frame.fromAudioBuffer(samples, {
      nbSamples: count,
      format: AV_SAMPLE_FMT_FLTP,
      sampleRate: sound.samplesPerSecond,
      channelLayout: AV_CHANNEL_LAYOUT_STEREO,
      timeBase: { num: 1, den: sound.samplesPerSecond },
      pts: BigInt(written),
    });
    written += count;
    await track.write(frame);
  };
  const writeUntil = (seconds: number) => {
    const count = Math.round(seconds * sound.samplesPerSecond) - written;
    return write(sound.samples(written, count), count);
  };
  const finish = async () => {
    const length = BigInt(written);
    const over = written % AAC_FRAME_SAMPLES;
    const missing = AAC_FRAME_SAMPLES - over;
    if (over > 0) await write(Buffer.alloc(missing * STEREO_SAMPLE_BYTES), missing);
    await track.finish(length);
  };
  return { writeUntil, finish };
}

/** The fastest preset: half the work of `veryfast`, for twice the bytes (1 MB at 720p). */
function videoEncoder(framesPerSecond: number): Promise<Encoder> {
  return Encoder.create(FF_ENCODER_LIBX264, {
    context: {
      threadCount: ENCODER_THREADS,
      framerate: new Rational(framesPerSecond, 1),
      gopSize: KEYFRAME_SECONDS * framesPerSecond,
      bitRate: 0,
    },
    options: { preset: 'ultrafast', crf: 19 },
  });
}

function audioEncoder(): Promise<Encoder> {
  return Encoder.create(FF_ENCODER_AAC, { context: { bitRate: '128k', threadCount: 1 } });
}
