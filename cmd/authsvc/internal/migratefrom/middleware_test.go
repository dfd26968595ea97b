package migratefrom

import (
	"strings"
	"testing"
)

// TestMiddlewareReadsTheToken: code that reads members of the token which tokens of
// authsvc have elsewhere must change, and other code stays.
func TestMiddlewareReadsTheToken(t *testing.T) {
	t.Parallel()
	const (
		role  = "open  middleware: reads token.role, which new sign-ins do not have there; it must read token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role (docs/moving-from-nextauth.md) (middleware.ts:2)\n"
		plan  = "open  middleware: reads token.plan, which is not in tokens of authsvc; "
		stays = "note  middleware: stays: it reads the cookies of authsvc with the same secret (middleware.ts)\n"
		head  = "import {withAuth, getToken} from 'next-auth/middleware'\n"
	)
	for code, want := range map[string]string{
		"export default withAuth({callbacks: {authorized: ({token}) => token?.role === 'admin'}})":                                                                          role,
		"export default withAuth({callbacks: {authorized({token}) { return (token as JWT).role === 'admin' }}})":                                                            role,
		"export default withAuth({callbacks: {authorized: ({token: t}) => t!.role === 'admin'}})":                                                                           role,
		"export default withAuth({callbacks: {authorized: ({token: {role}}) => role === 'admin'}})":                                                                         role,
		"export default withAuth(function (req) { return req.nextauth.token?.['role'] }, {})":                                                                               role,
		"export default withAuth(function (req) { const {role} = req.nextauth.token; return role }, {})":                                                                    role,
		"export async function middleware(req) { const t = await getToken({req}); return check(`${t?.role}`) }":                                                             role,
		"export async function middleware(req) { const role = (await getToken({req}))?.role; return role }":                                                                 role,
		"export async function middleware(req) { return (await getToken({req}) as JWT).role }":                                                                              role,
		"export async function middleware(req) { const t = await getToken({req}); return verify(t).role }":                                                                  stays,
		"export default withAuth({callbacks: {authorized: ({token}) => token?.plan === 'gold'}})":                                                                           plan,
		"export default withAuth({callbacks: {authorized: ({token}) => !!token}})":                                                                                          stays,
		"export default withAuth({callbacks: {authorized: ({token}) => token?.email?.endsWith('@x.y')}})":                                                                   stays,
		"export async function middleware(req) { const t = await getToken({req}); return t?.sub && other.role }":                                                            stays,
		"const role = (t) => t.authsvc_session?.columns ? t.authsvc_session.columns.role : t.role\nconst token = role":                                                      stays,
		"export default withAuth({callbacks: {authorized: ({token}) => (token?.authsvc_session?.columns ? token.authsvc_session.columns.role : token?.role) === 'admin'}})": stays,
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: 'jwt'}, callbacks: {\n" +
			"jwt({token, user}) { token.role = user.role; return token },\nsession({session, token}) { session.user.role = token.role; return session }}})"
		report, _ := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser, "middleware.ts": head + code})
		if !strings.Contains(report, want) || strings.Contains(report, "open  middleware") == (want == stays) {
			t.Errorf("%s: want %q in\n%s", code, want, report)
		}
	}
}

// TestAuthorizedReadsTheToken: the same of the callback in the options. With sessions in
// the database, there is no token.
func TestAuthorizedReadsTheToken(t *testing.T) {
	t.Parallel()
	const stays = "note  callback authorized: stays: your middleware calls it (auth.ts:5)"
	for _, c := range []struct{ strategy, code, want string }{
		{"jwt", "({token}) => token.role === 'admin'", "open  callback authorized: reads token.role, which new sign-ins do not have there; it must read token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role (docs/moving-from-nextauth.md) (auth.ts:5)"},
		{"jwt", "({auth}) => !!auth", stays},
		{"database", "({token}) => token.role === 'admin'", stays},
	} {
		source := prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], session: {strategy: '" + c.strategy + "'}, callbacks: {\n" +
			"jwt({token, user}) { token.role = user.role; return token }, session({session, token}) { session.user.role = token.role; return session },\nauthorized: " + c.code + "}})"
		if report, _ := proposed(t, map[string]string{"auth.ts": source, "schema.prisma": prismaUser}); !strings.Contains(report, c.want) {
			t.Errorf("%s, %s: want %q in\n%s", c.strategy, c.code, c.want, report)
		}
	}
}
