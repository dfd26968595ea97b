/**
 * Functions for your own account pages. The service serves them at
 * {base}/account.js, beside client.js; account.d.ts has the types.
 */

import { base, getCsrfToken, getProviders, refreshSession, signIn } from "./client.js";

/** Returns the account. null: no one is signed in, or a failure (logged). */
export async function getAccount() {
  try {
    const response = await send("account", { headers: { Accept: "application/json" } });
    if (response.status === 401) return null;
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return await response.json();
  } catch (error) {
    return failed("account", error, null);
  }
}

/** Changes the name. */
export function updateProfile({ name }) {
  return change("account/profile", { name });
}

/** Adds a way to sign in: goes to the provider, and back to callbackUrl. */
export function linkAccount(provider, { callbackUrl = location.href } = {}) {
  return signIn(provider, { link: "true", callbackUrl });
}

/** Removes a way to sign in, by its id in getAccount(). */
export function unlinkAccount(id) {
  return change("account/unlink", { id });
}

/** Signs one browser out, by its id in getAccount(). */
export function endSession(id) {
  return change("account/signout", { session: id });
}

/** Signs the person out everywhere but here. */
export function endOtherSessions() {
  return change("account/signout", { others: "true" });
}

/** Requests a change of address: both addresses then get a mail. */
export function changeEmail(email) {
  return change("account/email", { email });
}

/** Confirms the new address with the code of its mail, or either address with the token of its link. */
export function confirmEmail({ id, code, token, stop }) {
  return change("account/email/confirm", { id, code, token, stop: stop ? "true" : undefined });
}

/** Completes a change of address that is due. */
export function finishEmailChange() {
  return change("account/email/finish", {});
}

/** Cancels a change of address. */
export function cancelEmailChange() {
  return change("account/email/cancel", {});
}

/**
 * Schedules the account for deletion, and ends all sessions. confirm is its address,
 * or "delete" if it has none. url is the page that says until when it can be kept.
 */
export function deleteAccount(confirm) {
  return change("account/delete", { confirm });
}

/** Keeps an account scheduled for deletion: of the session, or of a sign-in that stopped there. */
export function keepAccount() {
  return change("account/keep", {});
}

/**
 * Goes to the page that asks for a fresh proof of identity, which FreshRequired
 * calls for, and back to callbackUrl (default: this page). On your own page for
 * that, provider is the way that the person chose; fields are for credentials.
 */
export async function confirmIdentity({ provider, callbackUrl = location.href, ...fields } = {}) {
  let url = `${base}/confirm?${new URLSearchParams({ callbackUrl })}`;
  if (provider) {
    const credentials = (await getProviders())?.[provider]?.type === "credentials";
    const path = credentials ? `callback/${encodeURIComponent(provider)}` : "confirm";
    try {
      const response = await post(path, { ...fields, ...(credentials ? { confirm: "true" } : { provider }), callbackUrl });
      ({ url = url } = await response.json());
    } catch (error) {
      failed(path, error);
    }
  }
  location.href = new URL(url, location.href).href;
}

async function send(path, init) {
  const url = new URL(`${base}/${path}`, location.href);
  const credentials = url.origin === location.origin ? "same-origin" : "include";
  return fetch(url.href, { ...init, credentials });
}

async function post(path, fields) {
  const csrfToken = await getCsrfToken();
  const body = JSON.stringify({ callbackUrl: location.href, ...fields, csrfToken, json: "true" });
  return send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

async function change(path, fields) {
  try {
    const response = await post(path, fields);
    const { url = null, error, account } = await response.json();
    if (response.ok && account !== undefined) {
      await refreshSession({ broadcast: true }); // the session may show the change
      return { ok: true, account, url };
    }
    const result = { ok: false, error: error ?? "Default", status: response.status, url };
    const wait = Number(response.headers.get("Retry-After"));
    return wait > 0 ? { ...result, retryAfter: wait } : result;
  } catch (error) {
    return failed(path, error, { ok: false, error: "Default", status: 0, url: null });
  }
}

function failed(path, error, result) {
  console.error(`authsvc: ${base}/${path}:`, error);
  return result;
}
