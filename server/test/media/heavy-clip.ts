import { Encoder, Muxer } from 'node-av/api';
import { FF_ENCODER_LIBSVTAV1 } from 'node-av/constants';
import { FFmpegError, FilterGraph, Frame, type Packet, Rational } from 'node-av/lib';

const GROUP_FRAMES = 10;

/** The encoder prints only fatal errors. */
process.env.SVT_LOG = '0';

/** An AV1 video that is small and takes long to decode: one group of frames, again and again. */
export async function makeHeavyClip(
  path: string,
  video: { width: number; height: number; fps: number; frames: number },
): Promise<void> {
  const encoder = await Encoder.create(FF_ENCODER_LIBSVTAV1, {
    gopSize: GROUP_FRAMES,
    context: { framerate: new Rational(60, 1) },
    options: { preset: 12 },
  });
  const muxer = await Muxer.open(path, { format: 'mp4' });
  const index = muxer.addStream(encoder);
  const packets = await groupOfPackets(encoder, video);
  for (let start = 0; start < video.frames; start += GROUP_FRAMES) {
    for (const packet of packets) {
      using copy = packet.clone() ?? packet;
      copy.pts += BigInt(start);
      copy.dts += BigInt(start);
      await muxer.writePacket(copy, index);
    }
  }
  await muxer.writePacket(null, index);
  await muxer.close();
}

async function groupOfPackets(
  encoder: Encoder,
  { width, height, fps }: { width: number; height: number; fps: number },
): Promise<Packet[]> {
  const graph = new FilterGraph();
  graph.alloc();
  const source = `testsrc2=size=${width}x${height}:rate=${fps},trim=end_frame=1`;
  const text = `${source},loop=${GROUP_FRAMES - 1}:1,format=yuv420p,buffersink@v`;
  FFmpegError.throwIfError(graph.parsePtr(text), text);
  FFmpegError.throwIfError(await graph.config(), text);
  const sink = graph.getFilter('buffersink@v');
  if (!sink) throw new Error('the graph has no sink');
  const packets: Packet[] = [];
  for (let count = 0; count <= GROUP_FRAMES; count += 1) {
    using frame = new Frame();
    frame.alloc();
    const isEnd = count === GROUP_FRAMES;
    if (!isEnd) {
      FFmpegError.throwIfError(await sink.buffersinkGetFrame(frame), 'frame');
      frame.timeBase = sink.buffersinkGetTimeBase();
      frame.pts = BigInt(count);
    }
    for await (const packet of encoder.packets(isEnd ? null : frame)) {
      if (packet !== null) packets.push(packet);
    }
  }
  graph.free();
  return packets;
}
