// Checked by `npm run test:types`; never run. If a line does not compile, the types
// have drifted from the types of next-auth/react.
import * as ours from "authsvc-client";
import type * as theirs from "next-auth/react";
import type { Session as TheirSession } from "next-auth";

// Our functions can replace theirs.
export const functions: Pick<
  typeof theirs,
  "getSession" | "getCsrfToken" | "getProviders" | "signOut"
> = ours;
// One by one, because TypeScript cannot relate two generic functions, not even copies,
// if the type parameter is used only in a conditional type.
export const signInEmail: typeof theirs.signIn<"email"> = ours.signIn<"email">;
export const signInCredentials: typeof theirs.signIn<"credentials"> = ours.signIn<"credentials">;
export const signInOther: typeof theirs.signIn<undefined> = ours.signIn<undefined>;
export const update: theirs.SessionContextValue["update"] = ours.update;

// The shapes are the same both ways.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
export const shapes: [
  Same<ours.Session, TheirSession>,
  Same<ours.ClientSafeProvider, theirs.ClientSafeProvider>,
  Same<ours.SignInOptions, theirs.SignInOptions>,
  Same<ours.SignInResponse, theirs.SignInResponse>,
  Same<ours.SignInAuthorizationParams, theirs.SignInAuthorizationParams>,
  Same<ours.SignOutParams, theirs.SignOutParams>,
  Same<ours.SignOutParams<false>, theirs.SignOutParams<false>>,
  Same<ours.SignOutResponse, theirs.SignOutResponse>,
] = [true, true, true, true, true, true, true, true];

// The type parameters choose the same results.
type Result<T extends (...args: never[]) => unknown> = Awaited<ReturnType<T>>;
export const results: [
  Same<Result<typeof ours.signIn<"credentials">>, ours.SignInResponse | undefined>,
  Same<Result<typeof ours.signIn<"credentials">>, Result<typeof theirs.signIn<"credentials">>>,
  Same<Result<typeof ours.signIn<undefined>>, undefined>,
  Same<Result<typeof ours.signOut<true>>, undefined>,
  Same<Result<typeof ours.signOut<false>>, ours.SignOutResponse>,
  Same<Result<typeof ours.signOut<false>>, Result<typeof theirs.signOut<false>>>,
] = [true, true, true, true, true, true];

// Typical calls.
ours.configure();
ours.configure({ baseUrl: "https://auth.example.com", basePath: "/login" });
export const left: undefined = await ours.signIn();
ours.signIn("github", { callbackUrl: "/", link: "true" }, { prompt: "login" });
ours.signIn("email", { email: "ada@example.com", redirect: false });
const coded: ours.SignInResponse | undefined = await ours.submitCode("ada@example.com", "1234 5678", { redirect: false });
void coded;
// @ts-expect-error a code is text: digits at its start may be 0
await ours.submitCode("ada@example.com", 12345678);
const { url } = await ours.signOut({ redirect: false });
export const signedOutTo: string = url;
export const github: ours.ClientSafeProvider | undefined = (await ours.getProviders())?.github;
export const end: () => void = ours.onSessionChange((session) => session?.user?.email);
ours.update({ name: "Ada" });
export const token: string | undefined = await ours.getToken("https://api.example.com");
ours.getToken();

// Lines that must not compile.
// @ts-expect-error an option that does not exist
ours.configure({ path: "/login" });
// @ts-expect-error redirect is a boolean
ours.signIn("email", { redirect: "false" });
// @ts-expect-error a session may be null
(await ours.getSession()).expires;
// @ts-expect-error a listener gets a session, not a string
ours.onSessionChange((session: string) => session);

// Session is open to augmentation under the package's own name.
declare module "authsvc-client" {
  interface Session {
    role?: string;
  }
}
export const role: string | undefined = (await ours.getSession())?.role;

// Your own session type, as `authsvc types client` prints it.
interface MySession {
  user: { id: string; name: string | null; email: string | null; image: string | null };
  expires: string;
}
export const id = async (): Promise<string | undefined> => (await ours.getSession<MySession>())?.user.id;
export const stop = ours.onSessionChange<MySession>((session) => session?.user.id);
export const again = async (): Promise<string | undefined> => (await ours.update<MySession>())?.user.id;
// @ts-expect-error: the type must be a session.
export const none = ours.getSession<string>;
