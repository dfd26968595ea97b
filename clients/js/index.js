// What "authsvc-client" from npm resolves to. Bundlers and dev servers give
// client.js addresses that say nothing about the service, so it is told here.
import { configure } from "./client.js";

configure({ basePath: "/api/auth" });

export * from "./client.js";
