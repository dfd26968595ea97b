"use client"
// The same session as next-auth/react and authsvc-client/react read it.
import * as theirs from "next-auth/react"
import * as ours from "authsvc-client/react"

function Theirs() {
  const { data: session, status, update } = theirs.useSession()
  if (typeof window !== "undefined") window.auth = { ...theirs, update }
  return <><p id="status">{status}</p><p id="name">{session?.user.name}</p><p id="email">{session?.user.email}</p></>
}

function Ours() {
  const { data: session, status } = ours.useSession()
  return <p id="ours">{`${status} ${session?.user.email ?? ""}`}</p>
}

export default function Who({ session }) {
  return (
    <theirs.SessionProvider session={session}>
      <ours.SessionProvider session={session}><Theirs /><Ours /></ours.SessionProvider>
    </theirs.SessionProvider>
  )
}
