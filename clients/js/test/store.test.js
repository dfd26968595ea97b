// The store that the hooks share, and the one hook that needs no framework.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SESSION, json, open } from "./browser.js";

let loaded = 0;
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A page whose body has this script#authsvc-session, with its own store. */
async function page(t, handedOver) {
  const browser = open(t);
  const visible = new Set();
  globalThis.document = {
    visibilityState: "visible",
    querySelector: (selector) => {
      assert.equal(selector, 'script#authsvc-session[type="application/json"]');
      return handedOver === undefined ? null : { textContent: handedOver };
    },
    addEventListener: (type, f) => type === "visibilitychange" && visible.add(f),
    removeEventListener: (type, f) => type === "visibilitychange" && visible.delete(f),
  };
  const store = await import(`../store.js?${loaded++}`);
  const seen = [];
  const watch = () => store.subscribe(() => seen.push(store.current().status));
  t.after(() => delete globalThis.document);
  return { browser, store, seen, watch, visible, look: () => [...visible].forEach((f) => f()) };
}

test("the status is loading, then the answer of the service, and other tabs are notified once", async (t) => {
  const { browser, store, seen, watch } = await page(t);
  assert.deepEqual([store.current().status, store.current().data], ["loading", undefined]);
  const end = watch();
  watch()();
  await settled();
  await settled();
  assert.deepEqual([seen, store.current().status, store.current().data], [["authenticated"], "authenticated", SESSION]);
  assert.equal(browser.called("session").length, 1);
  assert.deepEqual(browser.messages.map(({ data }) => data.trigger), ["getSession"]);
  end();
});

test("the state is the same object until it changes", async (t) => {
  const { store, watch } = await page(t);
  assert.equal(store.current(), store.current());
  const end = watch();
  await settled();
  await settled();
  assert.equal(store.current(), store.current());
  assert.ok(Object.isFrozen(store.current()));
  end();
});

test("if the first reading fails, no one is signed in; a later failure changes nothing", async (t) => {
  const { browser, store, watch, look } = await page(t);
  browser.answer("session", () => json({}, 503));
  const end = watch();
  await settled();
  await settled();
  assert.equal(store.current().status, "unauthenticated");
  browser.answer("session", () => json(SESSION));
  look();
  await settled();
  await settled();
  assert.equal(store.current().status, "authenticated");
  browser.answer("session", () => json({}, 503));
  look();
  await settled();
  await settled();
  assert.equal(store.current().status, "authenticated");
  assert.equal(browser.logs.length, 2);
  end();
});

test("the session is read again when the page becomes visible, not when it is hidden", async (t) => {
  const { browser, look, watch, visible } = await page(t);
  const end = watch();
  await settled();
  look();
  await settled();
  assert.equal(browser.called("session").length, 2);
  document.visibilityState = "hidden";
  look();
  await settled();
  assert.equal(browser.called("session").length, 2);
  assert.equal(browser.messages.length, 1, "reading again does not notify other tabs");
  end();
  assert.equal(visible.size, 0);
});

test("changes by other tabs and by update reach the store", async (t) => {
  const { browser, store, watch } = await page(t);
  const end = watch();
  await settled();
  browser.answer("session", () => json({}));
  browser.storage('{"event":"session","data":{"trigger":"signout"},"timestamp":1}');
  await settled();
  await settled();
  assert.equal(store.current().status, "unauthenticated");
  browser.answer("session", () => json({ ...SESSION, user: { name: "Ada King" } }));
  assert.equal((await store.current().update({ name: "Ada King" })).user.name, "Ada King");
  await settled();
  assert.equal(store.current().data.user.name, "Ada King");
  end();
  assert.equal(browser.storageListeners.size, 0);
});

test("after a time without watchers, the session is shown while it is read again", async (t) => {
  const { browser, store, watch } = await page(t);
  const end = watch();
  await settled();
  await settled();
  end();
  browser.answer("session", () => json({}));
  const second = watch();
  assert.equal(store.current().status, "authenticated");
  await settled();
  await settled();
  assert.equal(store.current().status, "unauthenticated");
  assert.equal(browser.called("session").length, 2);
  second();
});

test("a component that is mounted twice, as in StrictMode, does not show loading", async (t) => {
  const { browser, store, seen, watch } = await page(t, JSON.stringify(SESSION));
  watch()();
  assert.equal(store.current().status, "authenticated");
  const end = watch();
  await settled();
  await settled();
  assert.equal(store.current().status, "authenticated");
  assert.equal(browser.called("session").length, 1);
  assert.ok(!seen.includes("loading"));
  end();
});

test("the session that hydrate wrote is shown at once, without a request", async (t) => {
  for (const [text, status] of [[JSON.stringify(SESSION), "authenticated"], ["null", "unauthenticated"]]) {
    const { browser, store, watch } = await page(t, text);
    assert.equal(store.current().status, status);
    const end = watch();
    await settled();
    assert.equal(browser.called("session").length, 0);
    end();
  }
  const { store } = await page(t, "<b>not ours</b>");
  assert.equal(store.current().status, "loading");
});

test("seed counts until the session is known", async (t) => {
  const { store, browser, watch } = await page(t);
  assert.equal(store.seed(undefined).status, "loading");
  assert.equal(store.seed(SESSION).status, "authenticated");
  assert.equal(store.seed(null).status, "authenticated");
  const end = watch();
  await settled();
  assert.equal(browser.called("session").length, 0);
  end();
});

test("on a server, nothing is stored between requests", async () => {
  const store = await import(`../store.js?${loaded++}`);
  assert.equal(store.seed(SESSION).data, SESSION);
  assert.equal(store.current().status, "loading");
  assert.equal(store.seed(undefined).status, "loading");
  store.subscribe(() => assert.fail("called"))();
});

test("svelte: a store that keeps Svelte's contract, on a server and in a page", async (t) => {
  const { useSession } = await import("../svelte.js");
  let state;
  useSession(SESSION).subscribe((v) => (state = v))();
  assert.equal(state.status, "authenticated");
  useSession().subscribe((v) => (state = v))();
  assert.equal(state.status, "loading");
});
