/** Types of account.js, which the service serves at `{base}/account.js`. */

type ISODateString = string;

/** What `GET {base}/account` answers. Members of what does not exist or is off are null. */
export interface Account {
  user: { id: string; name: string | null; email: string | null; emailVerified: boolean; image: string | null };
  /** The session that asks. */
  session: {
    id: string;
    /** How many factors were proved: one, two, or a passkey's. */
    acr: "1fa" | "2fa" | "phr" | null;
    /** How (RFC 8176, and fed, email, app). */
    amr: string[];
    /** When they signed in, which need not be a proof of who they are. */
    authTime: ISODateString;
    /** Whether that is recent enough for changes that need a fresh proof. */
    fresh: boolean;
    secondAt: ISODateString | null;
    actor: string | null;
  };
  /** The ways to sign in. */
  accounts: { id: string; provider: string; name: string; removable: boolean }[];
  passkeys: null;
  password: null;
  secondStep: null;
  /** Where the person is signed in, the latest used first; at most 100. */
  sessions: AccountSession[];
  pending: {
    /** The change of address that waits. */
    email: PendingAddress | null;
    /** When the account is deleted. */
    deletion: ISODateString | null;
  };
  /** The providers by which a way to sign in can be added. */
  providers: { id: string; name: string }[];
  signal: null;
}

/** A session in {@link Account}. */
export interface AccountSession {
  id: string;
  /** It is the one that asks. */
  current: boolean;
  /** Such as "Firefox on Linux". */
  device: string;
  /** Where the sign-in came from, an IPv4 /24 or IPv6 /48. */
  network: string | null;
  place: string | null;
  provider: string | null;
  client: string | null;
  actor: string | null;
  created: ISODateString | null;
  /** To a quarter of an hour. */
  used: ISODateString | null;
}

/** A change of address that waits. */
export interface PendingAddress {
  id: string;
  /** The new one. */
  address: string;
  /** It was confirmed. */
  newProved: boolean;
  /** The old address allowed the change. */
  oldProved: boolean;
  /** When the change can be made without that, once the new address is confirmed. */
  notBefore: ISODateString;
}

/** The words of refusals; docs/errors.md explains them. */
export type AccountError =
  | "FreshRequired"
  | "LastMethod"
  | "Taken"
  | "Code"
  | "Invalid"
  | "NotFound"
  | "Unavailable"
  | "RateLimited"
  | "SessionRequired"
  | "csrf"
  | "Default";

/** What came of a change. */
export type Result =
  /** account is null if this very session ended, or if a link was confirmed without one. */
  | { ok: true; account: Account | null; url: string | null }
  | {
      ok: false;
      error: AccountError | (string & {});
      /** HTTP status; 0 if there was no answer. */
      status: number;
      /** With FreshRequired, the page that asks for a fresh proof and comes back here. */
      url: string | null;
      /** Seconds to wait. */
      retryAfter?: number;
    };

/** Resolves to null when nobody is signed in, and (logged) on failure. Never rejects. */
export declare function getAccount(): Promise<Account | null>;

/** Changes the name: 1 to 100 characters. Never rejects. */
export declare function updateProfile(profile: { name: string }): Promise<Result>;

/**
 * Adds a way to sign in: leaves the page for the provider, or, without a fresh
 * proof, for the page that asks for one. Rejects as signIn does.
 */
export declare function linkAccount(provider: string, options?: { callbackUrl?: string }): Promise<undefined>;

/** Removes a way to sign in, by its id in {@link Account}. Never rejects. */
export declare function unlinkAccount(id: string): Promise<Result>;

/** Signs one browser out, by its id in {@link Account}. Never rejects. */
export declare function endSession(id: string): Promise<Result>;

/** Signs the person out everywhere but here. Never rejects. */
export declare function endOtherSessions(): Promise<Result>;

/**
 * Asks for a change of address, which both ends have to agree to. Also ok if the
 * address is somebody's, who is told by mail. Never rejects.
 */
export declare function changeEmail(email: string): Promise<Result>;

/**
 * Proves the new address by the code of its mail, five tries, or agrees for one end
 * by the token of its link; stop, with that of the old address, stops the change.
 * Never rejects.
 */
export declare function confirmEmail(
  proof: { id?: string; code: string } | { id: string; token: string; stop?: boolean },
): Promise<Result>;

/** Makes a change of address that is due. Never rejects. */
export declare function finishEmailChange(): Promise<Result>;

/** Drops a change of address. Never rejects. */
export declare function cancelEmailChange(): Promise<Result>;

/**
 * Has the account deleted, and ends all sessions: `url` says until when it can be
 * kept. `confirm` is the address of the account, or `"delete"` if it has none.
 * Never rejects.
 */
export declare function deleteAccount(confirm: string): Promise<Result>;

/** Keeps an account that is to be deleted. Never rejects. */
export declare function keepAccount(): Promise<Result>;

/** Leaves for the page that asks the person to prove who they are, and comes back. */
export declare function confirmIdentity(options?: { callbackUrl?: string }): Promise<undefined>;
