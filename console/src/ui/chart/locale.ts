/**
 * The library of the charts gives `navigator.language` to Intl when it is loaded. Some systems have
 * a language there that Intl refuses, such as `en-US@posix`: numbers are then written as in en-US.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
}
