"use client"
// The session as next-auth/react of next-auth@5 reads it.
import * as five from "next-auth-5/react"

function Client() {
  const { data: session, status, update } = five.useSession()
  if (typeof window !== "undefined") window.auth = { ...five, update }
  return (
    <>
      <p id="status">{status}</p>
      <p id="id">{session?.user.id}</p>
      <p id="role">{session?.user.role}</p>
      <button id="in" onClick={() => five.signIn("op", { redirectTo: "/five" })}>Sign in</button>
      <button id="out" onClick={() => five.signOut({ redirectTo: "/five/open" })}>Sign out</button>
    </>
  )
}

export default function Who() {
  return <five.SessionProvider><Client /></five.SessionProvider>
}
