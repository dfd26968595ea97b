import { headers } from "next/headers"
import { auth } from "authsvc-client/server"
import Who from "../who"

export default async function Account() {
  const { session } = await auth(await headers(), { url: process.env.AUTHSVC_INTERNAL_URL })
  return <><h1 id="server">{session?.user.email}</h1><Who session={session} /></>
}
