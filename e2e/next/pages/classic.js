import { auth, passOn } from "authsvc-client/server"
import Who from "../app/who"

export async function getServerSideProps({ req, res }) {
  const { session, cookies } = await auth(req, { url: process.env.AUTHSVC_INTERNAL_URL })
  passOn(cookies, res)
  return { props: { session } }
}

export default function Classic({ session }) {
  return <><h1 id="server">{session?.user.email}</h1><Who session={session} /></>
}
