// This folder is the whole application, even if there are lock files above it.
export default { turbopack: { root: import.meta.dirname }, outputFileTracingRoot: import.meta.dirname }
