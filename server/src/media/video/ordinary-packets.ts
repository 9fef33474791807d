import { AV_NOPTS_VALUE } from 'node-av/constants';
import type { Packet } from 'node-av/lib';
import { damaged } from './streams.ts';

/**
 * Coded pictures have no such run of zeros: H.264 and HEVC forbid more than two zero bytes in a row
 * in a NAL unit, and entropy-coded data of the others has none by chance. A part of a file that was
 * never written reads as zeros.
 */
const HOLE = Buffer.alloc(16);

/**
 * Checks the packets of a video whose frames are not all decoded. It throws if something may be
 * wrong with them, and for what only the decoder can tell: then the caller decodes all frames.
 */
export function requireOrdinaryPackets(): (packet: Packet) => void {
  let isFirst = true;
  return (packet) => {
    if (isFirst && !packet.isKeyframe) throw damaged('The video does not begin with a keyframe.');
    isFirst = false;
    if (packet.pts === AV_NOPTS_VALUE) throw damaged('A packet of the video has no time.');
    if (packet.data?.includes(HOLE)) throw damaged('A part of the video is empty.');
  };
}
