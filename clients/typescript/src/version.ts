/** The version of all clients: of this package, and of those that contain it. */
export const VERSION = '1.0.0';
