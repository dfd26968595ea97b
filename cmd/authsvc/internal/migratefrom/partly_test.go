package migratefrom

import (
	"strings"
	"testing"
)

// TestColumnOrAnotherValue: of a column with an alternative that is not understood, the
// proposal has the column, and the report says what to do about the alternative.
func TestColumnOrAnotherValue(t *testing.T) {
	t.Parallel()
	const (
		other = ` ?? (ADMINS.includes(user.email) ? "admin" : "member")`
		open  = " is the column role of the users table, or a value that is not understood: the proposal has storage.user_columns: [role]; write the other value as rules.claims (docs/rules.md), or in code on your server"
		reads = ", which reads token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role"
	)
	for _, c := range []struct{ strategy, jwt, session, want, columns string }{
		{"jwt", "token.role = user.role" + other, "session.user.role = token.role", "open  callback jwt: token.role" + open + reads + " (auth.ts:", "user_columns: [role]"},
		{"jwt", "token.role = user.role" + other, "", "open  callback jwt: token.role" + open + reads + " (auth.ts:", "user_columns: [role]"},
		{"database", "", "session.user.role = user.role" + other, "open  callback session: session.user.role" + open + " (auth.ts:", "user_columns: [role]"},
		{"jwt", "token.role = user.rank" + other, "", "open  callback jwt: not understood: token.role (auth.ts:", ""}, // no such column
		{"jwt", "token.role = find(user)" + other, "", "open  callback jwt: not understood: token.role (auth.ts:", ""},
		{"jwt", "token.role = user.role + 1", "", "open  callback jwt: not understood: token.role (auth.ts:", ""},
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: '" + c.strategy + "'}, callbacks: {\n" +
			"jwt({token, user}) { " + c.jwt + "; return token },\nsession({session, user, token}) { " + c.session + "; return session }}})"
		report, config := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser})
		if !strings.Contains(report, c.want) || strings.Contains(config, "user_columns") != (c.columns != "") || !strings.Contains(config, c.columns) {
			t.Errorf("%s, %s, %s: want %q and %q in\n%s%s", c.strategy, c.jwt, c.session, c.want, c.columns, report, config)
		}
	}
}
