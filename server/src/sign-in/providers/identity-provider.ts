/** What is kept of a sign-in while the person is at the provider. */
export interface SignInStart {
  state: string;
  nonce: string;
  /** Of PKCE. */
  codeVerifier: string;
  /** Where the provider sends the person back to. */
  redirectUri: string;
}

/** The person whom a provider has confirmed. */
export interface OutsideIdentity {
  /** Never changes, unlike the e-mail address. */
  subject: string;
  email: string | undefined;
  isEmailVerified: boolean;
}

/** Where people have an account that they can sign in with. */
export interface IdentityProvider {
  /** Names the provider in the table of identities. */
  issuer: string;
  /**
   * The address of the provider where the person signs in.
   * @throws Error if the provider does not respond
   */
  authorizationUrl(start: SignInStart): Promise<string>;
  /**
   * Reads who came back.
   * @param parameters of the URL
   * @throws IdentityRefused, or another Error if the provider does not respond as it must
   */
  identify(parameters: URLSearchParams, start: SignInStart): Promise<OutsideIdentity>;
}

/** The names of the providers that can be configured, as they are in the paths of the website. */
export type ProviderName = 'github' | 'google' | 'oidc';

/** The provider did not confirm the person. */
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
