// What "authsvc-client/account" from npm resolves to: account.js, with the
// service where index.js says it is.
import "./index.js";

export { confirmIdentity, endOtherSessions, endSession, getAccount, linkAccount, unlinkAccount, updateProfile } from "./account.js";
