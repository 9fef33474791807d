/** Where the pages may load from, apart from their own origin. */
export interface PageOrigins {
  /** Where videos and posters come from: the public URL, and the storage that links lead to. */
  media: string[];
  /** Whether browsers reach the service by https. */
  isSecure: boolean;
}

/**
 * The security headers of the pages. Nothing is inlined and nothing comes from another host, except
 * videos and posters; `blob:` shows files that the reader has just chosen.
 */
export function pageHeaders({ media, isSecure }: PageOrigins): Record<string, string> {
  const files = ["'self'", 'blob:', ...media].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    `img-src ${files}`,
    `media-src ${files}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'strict-origin-when-cross-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isSecure && { 'strict-transport-security': 'max-age=31536000' }),
  };
}
