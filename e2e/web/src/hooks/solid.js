// The page of react.jsx, with Solid.
import { createComponent, render } from "solid-js/web"
import html from "solid-js/html"
import * as auth from "authsvc-client/solid"

function Who() {
  const session = auth.useSession()
  window.auth = { ...auth, update: session.update }
  return html`<main>
    <p id="status">${() => session.status}</p>
    <p id="name">${() => session.data?.user.name}</p>
    <p id="email">${() => session.data?.user.email}</p>
    <button id="in" onClick=${() => auth.signIn("op")}>Sign in</button>
    <button id="rename" onClick=${() => session.update({ name: "Ada King" })}>Rename</button>
  </main>`
}

function Mail() {
  const session = auth.useSession()
  return html`<p id="again">${() => session.data?.user.email}</p>`
}

render(() => [createComponent(Who, {}), createComponent(Mail, {})], document.getElementById("root"))
