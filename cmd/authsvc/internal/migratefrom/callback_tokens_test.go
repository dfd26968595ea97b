package migratefrom

import (
	"slices"
	"strings"
	"testing"
)

// TestTokensOnTheServer: the report says for each member of the token that the jwt
// callback adds how code on the server reads it from tokens of authsvc.
func TestTokensOnTheServer(t *testing.T) {
	t.Parallel()
	const (
		note   = "note  callback jwt: code on your server that reads "
		open   = "open  callback jwt: "
		guide  = " (docs/moving-from-nextauth.md) (auth.ts:"
		silent = ""
	)
	for _, c := range []struct{ strategy, jwt, session, want string }{
		{"jwt", "token.role = user.role", "session.user.role = token.role",
			note + "token.role must read token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role" + guide},
		{"jwt", "token.rank = user.role", "session.user.level = token.rank",
			note + "token.rank must read token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.rank" + guide},
		{"jwt", "token.groups = profile.org.groups", "session.user.teams = token.groups",
			note + "token.groups must read token.authsvc_session?.claims?.teams ?? token.groups" + guide},
		{"jwt", "token['app-groups'] = profile.groups", "session.user['my-groups'] = token['app-groups']",
			note + `token["app-groups"] must read token.authsvc_session?.claims?.["my-groups"] ?? token["app-groups"]` + guide},
		{"jwt", "token.id = user.id", "session.user.id = token.id", note + "token.id must read token.sub" + guide},
		{"jwt", "token.via = account.provider", "session.user.via = token.via", note + "token.via must read token.provider ?? token.via" + guide},
		{"jwt", "token.avatar = user.image", "session.user.image = token.avatar", note + "token.avatar must read token.picture" + guide},
		// not kept
		{"jwt", "token.role = user.role", "", open + "token.role is not in tokens of authsvc; if code on your server reads it, add its column to storage.user_columns (auth.ts:"},
		{"jwt", "token.groups = profile.groups", "", open + "token.groups is not in tokens of authsvc; if code on your server reads it, add it to session.claims (auth.ts:"},
		{"jwt", "token.proved = user.emailVerified", "session.user.proved = token.proved", open + "token.proved is not in tokens of authsvc; if code on your server reads it, read it from your database (auth.ts:"},
		// the same in both
		{"jwt", "token.provider = account.provider", "session.user.provider = token.provider", silent},
		{"jwt", "token.email = user.email", "session.user.email = token.email", silent},
		{"database", "token.role = user.role", "session.user.role = user.role", silent},
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: '" + c.strategy + "'}, callbacks: {\n" +
			"jwt({token, user, account, profile}) { " + c.jwt + "; return token },\nsession({session, user, token}) { " + c.session + "; return session }}})"
		report, _ := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser})
		if c.want == silent && strings.Contains(report, "  callback jwt:") || !strings.Contains(report, c.want) {
			t.Errorf("strategy %s, %s, %s: want %q in\n%s", c.strategy, c.jwt, c.session, c.want, report)
		}
	}
}

// TestLinesOfTheSession: with strategy jwt, the report names each line of the callback
// session that tokens of authsvc make the operator change, once.
func TestLinesOfTheSession(t *testing.T) {
	t.Parallel()
	const role, groups = "token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role", "token.authsvc_session?.claims?.groups ?? token.groups"
	for _, c := range []struct {
		strategy, session string
		want              []string // the lines, with what they must read
	}{
		{"jwt", "session({session, token}) {\nsession.user.role = token.role\nsession.user.groups = token.groups\nsession.user.id = token.sub\nreturn session }",
			[]string{role + " (docs/moving-from-nextauth.md) (auth.ts:6)", groups + " (docs/moving-from-nextauth.md) (auth.ts:7)"}},
		{"jwt", "session: ({session, token: t}) => ({...session, user: {...session.user,\nrole: t.role ?? t.role,\nid: t.id}})",
			[]string{role + " (docs/moving-from-nextauth.md) (auth.ts:6)", "token.sub (docs/moving-from-nextauth.md) (auth.ts:7)"}},
		{"jwt", "session({session, token}) {\nsession.user.role = token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role\nreturn session }", nil},
		{"jwt", "session({session, token}) {\nsession.user.role = token.unknown\nreturn session }", nil}, // it is open
		{"database", "session({session, user}) {\nsession.user.role = user.role\nreturn session }", nil},
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: '" + c.strategy + "'}, callbacks: {\n" +
			"jwt({token, user, profile}) { if (user) { token.role = user.role; token.id = user.id }; token.groups = profile.groups; return token },\n" + c.session + "}})"
		report, _ := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser})
		var got []string
		for line := range strings.Lines(report) {
			if text, found := strings.CutPrefix(line, "note  callback session: on your server, this line must read "); found {
				got = append(got, strings.TrimSpace(text))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("strategy %s, %s:\n%q\nwant %q in\n%s", c.strategy, c.session, got, c.want, report)
		}
	}
}

// TestTokensOfBoth: callbacks that read tokens of authsvc first, as the guide says, give
// the same proposal as before the change.
func TestTokensOfBoth(t *testing.T) {
	t.Parallel()
	const own = "const { columns, claims } = token.authsvc_session ?? {};\n"
	for session, want := range map[string]string{
		"session.user.role = token.role":                                                                       "role: User.role",
		own + "session.user.role = (columns ? columns.role : token.role) ?? null":                              "role: User.role",
		own + "session.user.role = columns ? columns.role : token.role":                                        "role: User.role",
		"session.user.role = token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role": "role: User.role",
		own + "session.user.groups = claims?.groups ?? token.groups":                                           "groups: claims.groups",
		"session.user.groups = token.authsvc_session?.claims?.groups ?? token.groups":                          "groups: claims.groups",
		own + "session.user.role = columns ? columns.role : token.gone":                                        "role: User.role",
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: 'jwt'}, callbacks: {\n" +
			"jwt({token, user, profile}) { if (user) token.role = user.role; token.groups = profile.groups; return token },\nsession({session, token}) { " + session + "; return session }}})"
		report, proposal := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser})
		if !strings.Contains(proposal, want) || strings.Contains(report, "callback session: not understood") {
			t.Errorf("%s: want %s in\n%s\n%s", session, want, proposal, report)
		}
	}
}
