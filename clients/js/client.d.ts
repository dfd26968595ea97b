/**
 * Types of the authsvc browser client. Names and shapes are the same as in
 * next-auth/react (v4), so that code typed against it keeps compiling.
 *
 * Add your own session fields as with NextAuth.js:
 *
 *     declare module "authsvc-client" {
 *       interface Session { user?: DefaultSession["user"] & { role?: string } }
 *     }
 */

/** A string that editors complete with the literals T. */
export type LiteralUnion<T extends U, U = string> = T | (U & Record<never, never>);

/** A time such as "2026-01-31T12:00:00.000Z". */
export type ISODateString = string;

/** The members of a session, unless the service's session callback changes them. */
export interface DefaultSession {
  user?: {
    name?: string | null;
    email?: string | null;
    image?: string | null;
    /** The id of the user. In compat modes, only session.expose adds it. */
    id?: string;
  };
  /** When the session ends unless it is renewed. */
  expires: ISODateString;
}

/** The session as the service shows it to the browser. You can augment it. */
export interface Session extends DefaultSession {}

/** The type of a provider. Only email and credentials can stay on the page. */
export type ProviderType = "oauth" | "email" | "credentials";

/** The types of providers that support `redirect: false`. */
export type RedirectableProviderType = "email" | "credentials";

/** A provider, as the service describes it. */
export interface ClientSafeProvider {
  id: LiteralUnion<RedirectableProviderType>;
  name: string;
  type: ProviderType;
  /** Where to post the sign-in form. */
  signinUrl: string;
  /** The callback URL to register with the provider. */
  callbackUrl: string;
}

/** Where the service is; see {@link configure}. */
export interface ClientOptions {
  /**
   * Absolute http(s) URL of the service; a path in it replaces `/api/auth`.
   * If it is on another origin than the page, the service must list the page's
   * origin in `trusted_origins`. Requests then include cookies.
   */
  baseUrl?: string;
  /** Path of the routes, on `baseUrl` or else on the page's origin. */
  basePath?: string;
}

/** Options of {@link getSession}. */
export interface GetSessionParams {
  /** Accepted for next-auth/react's sake; without effect. */
  event?: "storage" | "timer" | "hidden" | string;
  /** Accepted for next-auth/react's sake; without effect. */
  triggerEvent?: boolean;
  /** Whether other tabs are told to read their session (default true). */
  broadcast?: boolean;
}

/**
 * Options of {@link signIn}. Other members are sent as form fields
 * (`email`, `username`, `password` …) unless null or undefined; `link: "true"`
 * adds the provider's account to the signed-in user instead of switching.
 */
export interface SignInOptions extends Record<string, unknown> {
  /** Where to go after signing in. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. Only for the types credentials and email. */
  redirect?: boolean;
}

/** Appended to the sign-in request's query (`login_hint`, `prompt` …). */
export type SignInAuthorizationParams =
  | string
  | string[][]
  | Record<string, string>
  | URLSearchParams;

/** The result of {@link signIn} with `redirect: false`. */
export interface SignInResponse {
  /**
   * null on success; otherwise the error word of the service, such as
   * `CredentialsSignin`, or `Default` for a refusal without a word.
   */
  error: string | null;
  /** HTTP status. */
  status: number;
  /** Whether status is 2xx. A mail that was not sent can be ok with an error. */
  ok: boolean;
  /** Where a redirect would have gone; null with an error. */
  url: string | null;
}

/** Options of {@link submitCode}. */
export interface SubmitCodeOptions {
  /** Where to go after signing in. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. */
  redirect?: boolean;
  /** The id of the email provider. Default: `email`. */
  provider?: string;
}

/** Options of {@link signOut}. */
export interface SignOutParams<R extends boolean = true> {
  /** Where to go afterwards. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. */
  redirect?: R;
}

/** The result of {@link signOut} with `redirect: false`. */
export interface SignOutResponse {
  /** Where a redirect would have gone. */
  url: string;
}

/**
 * Sets the address of the service. Default: where the module came from
 * (`{base}/client.js`), or `/api/auth`; `configure()` restores it.
 * Throws a TypeError if an option is malformed.
 */
export declare function configure(options?: ClientOptions): void;

/**
 * Reads the session and tells other tabs to read theirs. Resolves to null
 * without a session, and also (logged to the console) if the service cannot be
 * reached or answers with an error. Never rejects. `getSession<MySession>()`
 * returns your own type, which `authsvc types client` prints.
 */
export declare function getSession<S extends DefaultSession = Session>(
  params?: GetSessionParams,
): Promise<S | null>;

/**
 * Returns the token that every POST to the service must send; signIn, signOut and
 * update fetch it themselves. undefined (logged) on failure. Never rejects.
 */
export declare function getCsrfToken(): Promise<string | undefined>;

/**
 * Returns the configured providers by id; null if there are none, and
 * (logged) on failure. Never rejects.
 */
export declare function getProviders(): Promise<Record<
  LiteralUnion<RedirectableProviderType>,
  ClientSafeProvider
> | null>;

/**
 * Signs in with a provider. Goes to the sign-in page if the provider is missing
 * or unknown, and to `{base}/error` if the providers cannot be read.
 *
 * Resolves to undefined if it leaves the page, as it always does for OAuth
 * providers. Rejects if the POST fails or its answer is not JSON.
 */
export declare function signIn<P extends RedirectableProviderType | undefined = undefined>(
  provider?: LiteralUnion<
    P extends RedirectableProviderType ? P | RedirectableProviderType : RedirectableProviderType
  >,
  options?: SignInOptions,
  authorizationParams?: SignInAuthorizationParams,
): Promise<P extends RedirectableProviderType ? SignInResponse | undefined : undefined>;

/**
 * Signs in with the one-time code of the mail that `signIn("email", { email })`
 * requested in this browser; spaces in the code do not matter. Resolves to
 * undefined if it leaves the page, and to the answer with `redirect: false`. Its
 * error is `Code` if the code is wrong or there were too many tries (the link in
 * the mail still works), and `Verification` if this browser did not request the
 * code or the code is too old. Rejects as signIn does.
 */
export declare function submitCode(
  email: string,
  code: string,
  options?: SubmitCodeOptions,
): Promise<SignInResponse | undefined>;

/**
 * Signs out and tells other tabs. Resolves to undefined if it leaves the page,
 * and to the answer with `redirect: false`. Rejects if the POST fails or its
 * answer is not JSON.
 */
export declare function signOut<R extends boolean = true>(
  options?: SignOutParams<R>,
): Promise<R extends true ? undefined : SignOutResponse>;

/**
 * Returns a token (JWT) for another back end of the application, to send as
 * `Authorization: Bearer`. audience is one of the service's `tokens.audiences`
 * and is optional if there is only one. The token is kept until a minute before
 * it expires, or until a sign-in, a sign-out or a change of tabs; call getToken
 * before each request.
 * undefined (logged) without a session and on failure. Never rejects.
 */
export declare function getToken(audience?: string): Promise<string | undefined>;

/**
 * Renews the session, as `update` of next-auth/react's useSession does. The
 * service's callbacks receive data (any JSON value) and decide how to use it.
 * Resolves to the new session; null without one, and (logged) on failure. Never
 * rejects.
 */
export declare function update<S extends DefaultSession = Session>(data?: any): Promise<S | null>;

/**
 * Reads the session again and calls the listeners of {@link onSessionChange};
 * with `broadcast` (default false), other tabs do so too. On failure, it calls no
 * listener and resolves to undefined (logged). Never rejects.
 */
export declare function refreshSession<S extends DefaultSession = Session>(params?: {
  broadcast?: boolean;
}): Promise<S | null | undefined>;

/**
 * Calls listener with the session (null: none) whenever it may have changed:
 * if another tab reports it, and in this tab after update, and after signIn and
 * signOut with `redirect: false`. If the session cannot be read, listener is not
 * called. A listener must not call getSession() with broadcast: two tabs would
 * call each other forever.
 *
 * Returns a function that ends the subscription.
 */
export declare function onSessionChange<S extends DefaultSession = Session>(
  listener: (session: S | null) => void,
): () => void;
