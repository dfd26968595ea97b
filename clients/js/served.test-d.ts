// Checked by `npm run test:types`; never run. Each line must compile; otherwise the
// setup of README.md does not find the types of the served module.
import { getSession, signIn, type Session } from "/api/auth/client.js";
import type * as named from "authsvc-client";

export const email = async (): Promise<string | null | undefined> => (await getSession())?.user?.email;
export const same: Session | null = null as named.Session | null;
export const enter: typeof named.signIn<undefined> = signIn<undefined>;

// @ts-expect-error: the module has no such function, so it is not of type any.
export { signinn } from "/api/auth/client.js";
