/** uPlot passes the browser's language to Intl, which rejects some, such as `en-US@posix`. */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}
