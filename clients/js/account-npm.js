// The entry point "authsvc-client/account" of the npm package: account.js, with the
// address of the service from index.js.
import "./index.js";

export { cancelEmailChange, changeEmail, confirmEmail, confirmIdentity, deleteAccount, endOtherSessions, endSession, finishEmailChange, getAccount, keepAccount, linkAccount, unlinkAccount, updateProfile } from "./account.js";
