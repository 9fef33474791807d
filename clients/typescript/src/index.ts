/** The client of one API key. */
export class Framewright {}
