import { env } from "$env/dynamic/private";
import { handler } from "authsvc-client/server";

const pass = handler({ url: () => env.AUTHSVC_INTERNAL_URL, key: () => env.AUTHSVC_PROXY_KEY });

export { pass as GET, pass as POST };
