import { getToken } from "next-auth-5/jwt"
import { auth } from "../../../auth"

// The wrapper of next-auth@5 also seals the session again.
export const GET = auth(async (request) =>
  Response.json({ session: request.auth, token: await getToken({ req: request, secret: process.env.AUTH_SECRET }) }))
