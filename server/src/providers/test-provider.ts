/** The provider of tasks of test keys. */
export const TEST_PROVIDER = 'scripted';
