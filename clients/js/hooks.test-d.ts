// Checked by `npm run test:types`; never run. types.test-d.ts adds role to Session.
import type { useSession as Theirs } from "next-auth/react";
import { get } from "svelte/store";
import * as react from "authsvc-client/react";
import * as solid from "authsvc-client/solid";
import * as svelte from "authsvc-client/svelte";
import * as vue from "authsvc-client/vue";

interface Mine {
  user: { id: string; role: "admin" | "member" };
  expires: string;
}

// The members that a component reads. status decides the type of data.
export const name = (): string | null | undefined => react.useSession().data?.user?.name;
export const narrowed = (): "admin" | "member" | "nobody" => {
  const session = react.useSession<Mine>();
  return session.status === "authenticated" ? session.data.user.role : "nobody";
};
export const augmented: string | undefined = react.useSession().data?.role;
export const fromVue: string | undefined = vue.useSession<Mine>(null).data.value?.user.id;
export const fromSvelte: string | undefined = get(svelte.useSession<Mine>()).data?.user.id;
export const fromSolid: string | undefined = solid.useSession<Mine>().data?.user.id;
export const renewed: Promise<Mine | null> = vue.useSession<Mine>().update({ name: "Ada" });
export const provider = react.SessionProvider({ session: null, children: "text" });
react.signIn("github");

// A component written for next-auth/react compiles.
type Ours = ReturnType<typeof react.useSession<react.Session>>;
export const status: ReturnType<typeof Theirs>["status"] = {} as Ours["status"];
export const update: ReturnType<typeof Theirs>["update"] = {} as Ours["update"];

// Lines that must not compile.
// @ts-expect-error there may be no session
react.useSession<Mine>().data.user;
// @ts-expect-error data is a ref
vue.useSession<Mine>().data.user;
// @ts-expect-error there is no such status
export const wrong = (): boolean => solid.useSession().status === "signed-in";
// @ts-expect-error the session is read only
svelte.useSession().set(null);
