/**
 * uPlot passes `navigator.language` to Intl on load. Some systems have a language that Intl
 * rejects, such as `en-US@posix`: fall back to en-US.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}
