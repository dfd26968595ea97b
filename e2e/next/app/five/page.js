import { auth } from "../../auth"
import Who from "./who"

export default async function Five() {
  const session = await auth()
  return <><h1 id="server">{`${session?.user.id} ${session?.user.role} ${session?.user.email}`}</h1><Who /></>
}
