// What "authsvc-client/account" from npm resolves to: account.js, with the
// service where index.js says it is.
import "./index.js";

export { cancelEmailChange, changeEmail, confirmEmail, confirmIdentity, deleteAccount, endOtherSessions, endSession, finishEmailChange, getAccount, keepAccount, linkAccount, unlinkAccount, updateProfile } from "./account.js";
