const RATIOS = ['1:1', '3:4', '9:16', '4:3', '16:9', '21:9'];

function seconds(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function seedance(name: string, resolutions: string[]) {
  return {
    id: `bytedance/${name}`,
    name: `ByteDance: ${name}`,
    supported_resolutions: resolutions,
    supported_aspect_ratios: [...RATIOS, '9:21'],
    supported_durations: seconds(4, 15),
    supported_frame_images: ['first_frame', 'last_frame'],
    generate_audio: true,
    seed: true,
    pricing_skus: { video_tokens: '0.0000035', video_tokens_with_video_input: '0.0000021' },
    input_modalities: ['text', 'image', 'video', 'audio'],
  };
}

/**
 * Some models as OpenRouter's list of October 2026 had them: longer and other sizes than the
 * contract, no switch for sound, only 2K, and one that edits videos.
 */
export const MODELS = [
  seedance('seedance-2.0', ['480p', '720p', '1080p', '4K']),
  seedance('seedance-2.0-fast', ['480p', '720p']),
  seedance('seedance-2.0-mini', ['480p', '720p']),
  {
    id: 'alibaba/wan-3.0',
    name: 'Alibaba: Wan 3.0',
    supported_resolutions: ['480p', '720p', '1080p'],
    supported_aspect_ratios: ['16:9', '4:3', '1:1', '3:4', '9:16'],
    supported_durations: seconds(2, 30),
    supported_frame_images: ['first_frame'],
    generate_audio: true,
    seed: true,
    pricing_skus: { duration_seconds_480p: '0.05', duration_seconds_720p: '0.1' },
    input_modalities: ['text', 'image'],
  },
  {
    id: 'x-ai/grok-imagine-video-1.5',
    name: 'xAI: Grok Imagine Video 1.5',
    supported_resolutions: ['480p', '720p', '1080p'],
    supported_aspect_ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'],
    supported_durations: seconds(1, 15),
    supported_frame_images: ['first_frame'],
    generate_audio: null,
    seed: null,
    pricing_skus: { cents_per_video_output_second_480p: '8' },
    input_modalities: ['text', 'image'],
  },
  {
    id: 'minimax/hailuo-3',
    name: 'MiniMax: Hailuo 3',
    supported_resolutions: ['2K'],
    supported_aspect_ratios: RATIOS,
    supported_durations: seconds(5, 15),
    supported_frame_images: ['first_frame', 'last_frame'],
    generate_audio: true,
    seed: false,
    pricing_skus: { duration_seconds: '0.13' },
    input_modalities: ['text', 'image', 'video', 'audio'],
  },
  {
    id: 'runway/aleph-2',
    name: 'Runway: Aleph 2',
    supported_resolutions: null,
    supported_aspect_ratios: [...RATIOS, '3:2', '2:3'],
    supported_durations: null,
    supported_frame_images: null,
    generate_audio: false,
    seed: true,
    pricing_skus: { cents_per_second_output: '28' },
    input_modalities: ['text', 'image', 'video'],
  },
];
