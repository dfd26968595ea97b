import { getToken } from "next-auth-5/jwt"
import { auth } from "../../../auth"

// Its wrapper seals the session again, too.
export const GET = auth(async (request) =>
  Response.json({ session: request.auth, token: await getToken({ req: request, secret: process.env.AUTH_SECRET }) }))
