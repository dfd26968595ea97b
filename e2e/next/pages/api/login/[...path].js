import { handler } from "authsvc-client/server";

export default handler({ url: () => process.env.AUTHSVC_INTERNAL_URL, key: () => process.env.AUTHSVC_PROXY_KEY });
