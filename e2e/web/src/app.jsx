// A small application with the unmodified next-auth/react. The test calls its functions
// on window.auth with arguments. window.every is the number of seconds after which the
// session is read again.
import { createRoot } from "react-dom/client"
import * as auth from "next-auth/react"

function Who() {
  const { data: session, status, update } = auth.useSession()
  window.auth = { ...auth, update }
  return (
    <main>
      <p id="status">{status}</p>
      <p id="name">{session?.user?.name}</p>
      <p id="email">{session?.user?.email}</p>
      <button id="in" onClick={() => auth.signIn("op")}>Sign in</button>
      <button id="list" onClick={() => auth.signIn()}>Ways to sign in</button>
      <button id="out" onClick={() => auth.signOut({ callbackUrl: "/bye" })}>Sign out</button>
      <button id="rename" onClick={() => update({ name: "Ada King" })}>Rename</button>
    </main>
  )
}

createRoot(document.getElementById("root")).render(
  <auth.SessionProvider refetchInterval={window.every ?? 0}>
    <Who />
  </auth.SessionProvider>,
)
