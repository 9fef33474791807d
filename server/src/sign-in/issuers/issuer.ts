/** What is kept of a sign-in while the person is at the issuer. */
export interface SignInStart {
  state: string;
  nonce: string;
  /** Of PKCE. */
  codeVerifier: string;
  /** Where the issuer sends the person back to. */
  redirectUri: string;
}

/** The person whom an issuer has confirmed. */
export interface OutsideIdentity {
  /** Never changes, unlike the e-mail address. */
  subject: string;
  email: string | undefined;
  isEmailVerified: boolean;
}

/** Where people have an account that they can sign in with: GitHub, or one of OpenID Connect. */
export interface Issuer {
  /** Names the issuer in the table of identities. */
  identifier: string;
  /**
   * The address where the person signs in.
   * @throws Error if the issuer does not respond
   */
  authorizationUrl(start: SignInStart): Promise<string>;
  /**
   * Reads who came back.
   * @param parameters of the URL
   * @throws IdentityRefused, or another Error if the issuer does not respond as it must
   */
  identify(parameters: URLSearchParams, start: SignInStart): Promise<OutsideIdentity>;
}

/** The names of the issuers that can be configured, as they are in the paths of the website. */
export type IssuerName = 'github' | 'google' | 'oidc';

/** The issuer did not confirm the person. */
export class IdentityRefused extends Error {
  override name = 'IdentityRefused';
  /** Whether the person has said no. */
  readonly isDenied: boolean;

  constructor(
    message: string,
    { isDenied = false, cause }: { isDenied?: boolean; cause?: unknown },
  ) {
    super(message, { cause });
    this.isDenied = isDenied;
  }
}
