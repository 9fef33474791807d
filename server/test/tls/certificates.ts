/** The certificate (PEM) of the authority that signed the test hosts' certificate. */
export const TEST_CA_FILE = new URL('./ca.crt', import.meta.url);

/** What a test host serves TLS with; its certificate is for localhost and media.test. */
export const TEST_HOST_KEY_FILE = new URL('./server.key', import.meta.url);
export const TEST_HOST_CERTIFICATE_FILE = new URL('./server.crt', import.meta.url);
