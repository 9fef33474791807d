/** The version of all clients: this package, and those that bundle it. */
export const VERSION = '1.0.0';
