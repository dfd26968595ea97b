// The address of the service, from the module and from configure().
import assert from "node:assert/strict";
import { test } from "node:test";
import { ORIGIN, load, open } from "./browser.js";

async function sessionRequest(t, { moduleUrl, options, href }) {
  const browser = open(t, { href });
  const client = await load(moduleUrl);
  if (options) client.configure(options);
  await client.getSession();
  return browser.calls[0];
}

const modules = [
  ["the engine's default path", `${ORIGIN}/api/auth/client.js`, `${ORIGIN}/api/auth`],
  ["the engine's custom path", `${ORIGIN}/login/v1/client.js`, `${ORIGIN}/login/v1`],
  ["a query and a fragment", `${ORIGIN}/login/client.js?v=1#x`, `${ORIGIN}/login`],
  ["another origin", "https://auth.example.com/api/auth/client.js", "https://auth.example.com/api/auth"],
  ["a bundle", `${ORIGIN}/assets/index-abc.js`, `${ORIGIN}/api/auth`],
  ["a bundle that happens to be called client.js", `${ORIGIN}/client.js`, `${ORIGIN}/api/auth`],
  ["a longer name", `${ORIGIN}/x/my-client.js`, `${ORIGIN}/api/auth`],
  ["a file", "file:///srv/clients/js/client.js", `${ORIGIN}/api/auth`],
  ["a classic script, without import.meta.url", null, `${ORIGIN}/api/auth`],
];
for (const [name, moduleUrl, want] of modules) {
  test(`base from module: ${name}`, async (t) => {
    const browser = open(t);
    const client = await load(moduleUrl);
    await client.getSession();
    assert.equal(browser.calls[0].url, `${want}/session`);
  });
}

const configured = [
  ["basePath", { basePath: "/login" }, `${ORIGIN}/login`],
  ["basePath with a trailing slash", { basePath: "/login/" }, `${ORIGIN}/login`],
  ["baseUrl", { baseUrl: "https://auth.example.com" }, "https://auth.example.com/api/auth"],
  ["baseUrl with a slash", { baseUrl: "https://auth.example.com/" }, "https://auth.example.com/api/auth"],
  ["baseUrl with a path", { baseUrl: "http://localhost:3000/a/b/" }, "http://localhost:3000/a/b"],
  ["both", { baseUrl: "https://auth.example.com/x", basePath: "/y" }, "https://auth.example.com/y"],
  ["neither", {}, `${ORIGIN}/from/module`],
  ["nothing", undefined, `${ORIGIN}/from/module`],
];
for (const [name, options, want] of configured) {
  test(`configure: ${name}`, async (t) => {
    const moduleUrl = `${ORIGIN}/from/module/client.js`;
    const call = await sessionRequest(t, { moduleUrl, options });
    assert.equal(call.url, `${want}/session`);
  });
}

test("configure() restores the address that the module came from", async (t) => {
  const browser = open(t);
  const client = await load();
  client.configure({ baseUrl: "https://auth.example.com/x" });
  client.configure();
  await client.getSession();
  assert.equal(browser.calls[0].url, `${ORIGIN}/api/auth/session`);
});

const malformed = [
  { basePath: "" },
  { basePath: "/" },
  { basePath: "login" },
  { basePath: "//evil.example" },
  { basePath: "/\\evil.example" },
  { basePath: "/\t/evil.example" },
  { basePath: "/login?x=1" },
  { basePath: "https://evil.example/x" },
  { baseUrl: "" },
  { baseUrl: "auth.example.com" },
  { baseUrl: "javascript:alert(1)" },
  { baseUrl: "https://auth.example.com", basePath: "//evil.example" },
];
for (const options of malformed) {
  test(`configure refuses ${JSON.stringify(options)} and changes nothing`, async (t) => {
    const browser = open(t);
    const client = await load();
    assert.throws(() => client.configure(options), TypeError);
    await client.getSession();
    assert.equal(browser.calls[0].url, `${ORIGIN}/api/auth/session`);
  });
}

const origins = [
  ["the page's origin", undefined, "same-origin"],
  ["another host", { baseUrl: "https://auth.example.com" }, "include"],
  ["another port", { baseUrl: `${ORIGIN}:8443` }, "include"],
  ["another scheme", { baseUrl: ORIGIN.replace("https", "http") }, "include"],
];
for (const [name, options, want] of origins) {
  test(`credentials: ${name}`, async (t) => {
    const call = await sessionRequest(t, { options });
    assert.equal(call.credentials, want);
    assert.equal(call.headers, undefined, "a header here would cost a preflight");
  });
}

test("the npm entry uses /api/auth, wherever the bundler puts the file", async (t) => {
  const browser = open(t);
  const client = await import("../index.js");
  await client.getSession();
  assert.equal(browser.calls[0].url, `${ORIGIN}/api/auth/session`);
});

test("without a browser, reading returns null", async (t) => {
  t.mock.method(console, "error", () => {});
  const client = await load();
  assert.equal(await client.getSession(), null);
});
