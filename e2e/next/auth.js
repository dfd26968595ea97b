// The code of an application with next-auth@5. Its auth() still reads the session, which
// the service signs now. Its callback shows claims and columns of the session.
import NextAuth from "next-auth-5"

export const { auth } = NextAuth({
  providers: [],
  session: { strategy: "jwt" },
  trustHost: true,
  callbacks: {
    authorized: ({ auth }) => auth !== null,
    session({ session, token }) {
      session.user.id = token.sub
      session.user.role = token.authsvc_session.columns.role
      return session
    },
  },
})
