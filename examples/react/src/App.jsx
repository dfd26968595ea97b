import { useSession } from "next-auth/react";
import { Account } from "./Account.jsx";
import { SignIn } from "./SignIn.jsx";

/** The whole page. While update() runs the status is "loading" and data stays. */
export function App() {
  const { data: session, status } = useSession();
  return (
    <main aria-busy={status === "loading"}>
      {status === "loading" && !session && <h1>One moment…</h1>}
      {status === "unauthenticated" && <SignIn />}
      {session && <Account />}
    </main>
  );
}
