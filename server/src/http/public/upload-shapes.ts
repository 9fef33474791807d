import { Type } from 'typebox';
import { MAX_UPLOAD_BYTES, TOO_LARGE } from '../../requests/receive-upload.ts';
import { errorResponses } from './schemas.ts';

const Id = Type.String({ pattern: '^obj_[0-9A-Za-z]+$', description: 'The id of the upload' });
const Url = Type.String({
  format: 'uri',
  description: 'For the media fields of a create of the same account. Nobody can fetch it',
});
const Time = (description: string) => Type.String({ format: 'date-time', description });
const Size = Type.Integer({
  minimum: 1,
  maximum: MAX_UPLOAD_BYTES,
  description: 'Bytes of the file',
});
const Pixels = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 1,
  description: 'Pixels as displayed',
});

export const UploadSchema = Type.Object(
  {
    id: Id,
    url: Url,
    expires_at: Time('When the file is deleted. Each use sets it to a day after the use'),
    kind: Type.Enum(['image', 'video'], { description: 'What the bytes are' }),
    media_type: Type.String({ description: 'Their type, such as video/mp4' }),
    size_bytes: Size,
    width: Pixels,
    height: Pixels,
    duration_seconds: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'The length of a video, not rounded. Round it for reference_video_durations',
    }),
  },
  { title: 'Upload' },
);

export const PresignedUploadSchema = Type.Object(
  {
    id: Id,
    url: Url,
    expires_at: Time('When the file is deleted if it was not used before'),
    upload: Type.Object(
      {
        method: Type.Literal('PUT', { description: 'The method of the request that sends them' }),
        url: Type.String({ format: 'uri', description: 'Where to send the bytes, without a key' }),
        headers: Type.Object(
          {
            'content-type': Type.String({ description: 'As requested' }),
            'content-length': Type.String({ description: 'size_bytes, as requested' }),
          },
          { description: 'Send exactly these' },
        ),
        expires_at: Time('Until when the PUT can begin'),
      },
      { description: 'How to send the bytes' },
    ),
  },
  { title: 'PresignedUpload' },
);

/** The media types that ingest accepts. */
const MEDIA_TYPES: string[] = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'video/mp4',
  'video/quicktime',
  'video/webm',
  'video/x-matroska',
];

export const PresignedUploadBodySchema = Type.Object(
  {
    content_type: Type.Enum(MEDIA_TYPES, { description: 'The type of the file' }),
    size_bytes: Size,
  },
  {
    title: 'PresignedUploadRequest',
    additionalProperties: false,
    examples: [{ content_type: 'video/mp4', size_bytes: 1_482_331 }],
  },
);

const EXAMPLE = {
  id: 'obj_0VbbyZIHWPwjVj4kV2M58OWQ',
  url: 'https://video.example.com/uploads/obj_0VbbyZIHWPwjVj4kV2M58OWQ',
  expires_at: '2026-11-23T10:00:00.000Z',
};

export const EXAMPLE_UPLOAD = {
  ...EXAMPLE,
  kind: 'video',
  media_type: 'video/mp4',
  size_bytes: 1_482_331,
  width: 1280,
  height: 720,
  duration_seconds: 3.04,
};

export const EXAMPLE_PRESIGNED_UPLOAD = {
  ...EXAMPLE,
  upload: {
    method: 'PUT',
    url: 'https://videos.s3.amazonaws.com/obj_0VbbyZIHWPwjVj4kV2M58OWQ?X-Amz-Signature=5f1c',
    headers: { 'content-type': 'video/mp4', 'content-length': '1482331' },
    expires_at: '2026-11-22T10:15:00.000Z',
  },
};

const RESPONSES = errorResponses(400, 401, 413, 429, 503);

/** The error responses of POST /uploads, whose request has a binary body. */
export const UPLOAD_ERRORS = {
  ...RESPONSES,
  400: { ...RESPONSES[400], description: 'The file or the request is refused.' },
  413: { ...RESPONSES[413], description: TOO_LARGE },
  503: { ...RESPONSES[503], description: 'Temporarily unavailable: upload it again.' },
};
