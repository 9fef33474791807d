/** The built-in models. Their prices are in catalog.ts; operators add other models. */
export const BUILT_IN_MODELS = ['video-2.0', 'video-2.0-fast', 'video-2.0-mini'] as const;
export type BuiltInModel = (typeof BUILT_IN_MODELS)[number];

export const MODES = ['text-to-video', 'image-to-video', 'media-to-video'] as const;
export type Mode = (typeof MODES)[number];

export const RESOLUTIONS = ['480p', '720p', '1080p', '4k'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** The ratios of an output. */
export const ASPECT_RATIOS = ['1:1', '21:9', '4:3', '3:4', '16:9', '9:16'] as const;
export type AspectRatio = (typeof ASPECT_RATIOS)[number];

/** The ratios of a request: `adaptive` selects one of the others. */
export const REQUEST_RATIOS = [...ASPECT_RATIOS, 'adaptive'] as const;
export type RequestRatio = (typeof REQUEST_RATIOS)[number];
