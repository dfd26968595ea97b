// The page of every hook: the user, and buttons. Other functions are on window.auth.
import { createRoot } from "react-dom/client"
import * as auth from "authsvc-client/react"

function Who() {
  const { data: session, status, update } = auth.useSession()
  window.auth = { ...auth, update }
  return (
    <main>
      <p id="status">{status}</p>
      <p id="name">{session?.user.name}</p>
      <p id="email">{session?.user.email}</p>
      <button id="in" onClick={() => auth.signIn("op")}>Sign in</button>
      <button id="rename" onClick={() => update({ name: "Ada King" })}>Rename</button>
    </main>
  )
}

function Mail() {
  return <p id="again">{auth.useSession().data?.user.email}</p>
}

createRoot(document.getElementById("root")).render(<><Who /><Mail /></>)
