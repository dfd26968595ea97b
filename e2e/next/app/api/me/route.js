import { protect } from "authsvc-client/server"

const me = protect({ url: () => process.env.AUTHSVC_INTERNAL_URL }, (request, session) => Response.json(session))

export { me as GET, me as POST }
