// This folder is the whole application, whatever lock files lie above it.
export default { turbopack: { root: import.meta.dirname }, outputFileTracingRoot: import.meta.dirname }
