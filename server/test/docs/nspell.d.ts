/** The parts of nspell that the tests use; the package has no types. */
declare module 'nspell' {
  interface Spelling {
    correct(word: string): boolean;
    add(word: string): void;
  }
  const nspell: (dictionary: { aff: Uint8Array; dic: Uint8Array }) => Spelling;
  export default nspell;
}
