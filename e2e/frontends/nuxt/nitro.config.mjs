// Nitro builds the server of Nuxt applications. Alone, it needs these options.
export default { srcDir: "server", compatibilityDate: "2026-01-01" };
