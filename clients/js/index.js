// The entry point "authsvc-client" of the npm package. Bundlers and dev servers
// serve client.js at other addresses than the service, so this sets the path.
import { configure } from "./client.js";

configure({ basePath: "/api/auth" });

export * from "./client.js";
