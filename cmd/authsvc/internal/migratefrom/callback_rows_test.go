package migratefrom

import (
	"strings"
	"testing"
)

// TestRowOfTheUser: a callback that reads the row of the user with Prisma adds columns
// of that table. A row that may be another one is not understood.
func TestRowOfTheUser(t *testing.T) {
	t.Parallel()
	const (
		row     = "const row = await prisma.user."
		byID    = row + "findUnique({where: {id: token.sub}})\n"
		shown   = "expose: {role: User.role}"
		unclear = "not understood: the declaration of row"
	)
	for _, c := range []struct{ name, jwt, session, want string }{
		{"in jwt", byID + "if (row) token.role = row.role", "session.user.role = token.role", shown},
		{"in jwt, of a new variable", "if (!token.sub) return token\n" + byID + "if (!row) return token\ntoken.role = row.role", "session.user.role = token.role", shown},
		{"in session", "", byID + "session.user.role = row?.role", shown},
		{"only a column", "", row + "findUniqueOrThrow({where: {id: token.sub!}, select: {role: true}})\nsession.user.role = row.role", shown},
		{"destructured", "", "const {role} = await db.user.findFirst({where: {id: String(token.sub)}})\nsession.user.role = role", shown},
		{"by a member of the token", "if (user) token.id = user.id", "const row = await prisma.user.findUnique({where: {id: token.id as string}})\nsession.user.role = row.role", shown},
		{"by address", "", row + "findUnique({where: {email: session.user.email}})\nsession.user.role = row.role", shown},
		{"by the address in the token", row + "findUnique({where: {email: token.email ?? ''}})\ntoken.role = row.role", "session.user.role = token.role", shown},
		{"by the id in the session", "", "session.user.id = token.sub\n" + row + "findUnique({where: {id: session.user.id}})\nsession.user.role = row.role", "expose: {id: id, role: User.role}"},

		{"of another person", "", row + "findUnique({where: {id: 'admin'}})\nsession.user.role = row.role", unclear},
		{"with another condition", "", row + "findFirst({where: {id: token.sub, active: true}})\nsession.user.role = row.role", unclear},
		{"by another column", "", row + "findFirst({where: {id: token.email}})\nsession.user.role = row.role", unclear},
		{"an unknown condition", "", row + "findFirst({where: {...owner}})\nsession.user.role = row.role", unclear},
		{"many rows", "", row + "findMany({where: {id: token.sub}})\nsession.user.role = row.role", unclear},
		{"another table", "", "const row = await prisma.member.findUnique({where: {id: token.sub}})\nsession.user.role = row.role", unclear},
		{"a row beside it", "", byID + "session.user.role = row.team.name", "not understood: session.user.role"},
	} {
		for strategy, noted := range map[string]bool{"jwt": true, "database": false} {
			source := prismaHead + "NextAuth({adapter: PrismaAdapter(prisma), providers: [], session: {strategy: '" + strategy + "'}, callbacks: {\n" +
				"async jwt({token, user}) { " + c.jwt + "\nreturn token },\nasync session({session, token}) { " + c.session + "\nreturn session }}})"
			report, proposal := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser})
			understood := strings.HasPrefix(c.want, "expose")
			if !strings.Contains(report+proposal, c.want) || understood && strings.Contains(report, "not understood") || !understood && strings.Contains(proposal, "role") && c.want == unclear {
				t.Errorf("%s, %s: want %s in\n%s\n%s", c.name, strategy, c.want, report, proposal)
			}
			if got := strings.Contains(report, "note  callback ") && strings.Contains(report, "the row of the user is read in each call"); understood && got != noted {
				t.Errorf("%s, %s: the note about the age of columns: %v\n%s", c.name, strategy, got, report)
			}
		}
	}
}
