import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page and the service share one origin, http://localhost:5173. Host and
// Origin reach the service as the browser sent them (changeOrigin: false), so
// its AUTHSVC_URL must name that origin too.
const proxy = {
  "/api/auth": { target: "http://127.0.0.1:3000", changeOrigin: false },
};
const server = { host: "localhost", port: 5173, strictPort: true, proxy };

export default defineConfig({
  plugins: [react()],
  server,
  preview: server,
  // next-auth/react reads these as if it ran in Node.
  define: {
    "process.env.NEXTAUTH_URL": "undefined",
    "process.env.NEXTAUTH_URL_INTERNAL": "undefined",
    "process.env.VERCEL_URL": "undefined",
  },
});
