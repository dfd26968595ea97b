// What an application of next-auth@5 has: its auth() goes on reading the session that
// the service signs, whose claims and columns its callback shows.
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
