// A browser in miniature: the globals that client.js reads at call time.
import { readFileSync } from "node:fs";

const source = readFileSync(new URL("../client.js", import.meta.url), "utf8");
const accountSource = readFileSync(new URL("../account.js", import.meta.url), "utf8");
let loaded = 0;

export const ORIGIN = "https://app.example.com";
export const CSRF = "the-token";
export const SESSION = { user: { name: "Ada" }, expires: "2030-01-01T00:00:00.000Z" };
export const PROVIDERS = {
  github: { id: "github", type: "oauth" },
  email: { id: "email", type: "email" },
  password: { id: "password", type: "credentials" },
};

/** Imports a new copy of client.js, as if it had been loaded from url. */
export function load(url = `${ORIGIN}/api/auth/client.js`) {
  const code = source.replace("import.meta.url", JSON.stringify(url));
  return import(`data:text/javascript,${encodeURIComponent(code)}#${loaded++}`);
}

/** Imports a new copy of account.js, with its own client.js. */
export function loadAccount(url = `${ORIGIN}/api/auth/client.js`) {
  const client = source.replace("import.meta.url", JSON.stringify(url)) + `\n// ${loaded++}`;
  const code = accountSource.replace("./client.js", `data:text/javascript,${encodeURIComponent(client)}`);
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

export function json(body, status = 200) {
  return new Response(JSON.stringify(body), { status });
}

/**
 * Installs the globals for one test and returns an object to inspect and control
 * them: calls (the requests), messages (to other tabs), logs, warnings, location,
 * and answer(path, function).
 */
export function open(t, { href = `${ORIGIN}/page?x=1` } = {}) {
  const answers = new Map();
  const browser = {
    calls: [],
    messages: [],
    logs: [],
    warnings: [],
    storageListeners: new Set(),
    visibilityListeners: new Set(),
    location: fakeLocation(href),
    answer: (path, reply) => answers.set(path, reply),
    called: (path) => browser.calls.filter((call) => call.path === path),
    /** Delivers a storage event, as another tab's write does. */
    storage(newValue, key = "nextauth.message") {
      for (const listener of [...browser.storageListeners]) listener({ key, newValue });
    },
  };
  browser.answer("providers", () => json(PROVIDERS));
  browser.answer("csrf", () => json({ csrfToken: CSRF }));
  browser.answer("session", () => json(SESSION));

  install(t, {
    location: browser.location,
    localStorage: {
      setItem: (key, value) => browser.messages.push({ key, value, ...JSON.parse(value) }),
    },
    addEventListener(type, f) {
      if (type === "storage") browser.storageListeners.add(f);
      else if (type === "visibilitychange") browser.visibilityListeners.add(f);
    },
    removeEventListener: (type, f) => type === "storage" && browser.storageListeners.delete(f),
    fetch: async (url, init = {}) => {
      const path = new URL(url).pathname.replace(/^\/api\/auth\//, "");
      browser.calls.push({ url, path, ...init });
      const reply = answers.get(path);
      if (!reply) throw new TypeError("fetch failed");
      return reply(url, init);
    },
  });
  t.mock.method(console, "error", (...args) => browser.logs.push(args));
  t.mock.method(console, "warn", (...args) => browser.warnings.push(args.join(" ")));
  return browser;
}

function fakeLocation(start) {
  const visited = [];
  let current = new URL(start);
  return {
    visited,
    reloads: 0,
    get href() {
      return current.href;
    },
    set href(url) {
      current = new URL(url, current);
      visited.push(current.href);
    },
    get origin() {
      return current.origin;
    },
    reload() {
      this.reloads++;
    },
  };
}

function install(t, globals) {
  for (const [name, value] of Object.entries(globals)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    t.after(() => {
      if (before) Object.defineProperty(globalThis, name, before);
      else delete globalThis[name];
    });
  }
}
