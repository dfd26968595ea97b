export const metadata = { title: "Acme", icons: "data:," }

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>
}
