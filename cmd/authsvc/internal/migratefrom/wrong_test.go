package migratefrom

import (
	"fmt"
	"strings"
	"testing"
)

const (
	prismaHead = "import NextAuth from 'next-auth'\nimport { PrismaAdapter } from '@auth/prisma-adapter'\n"
	prismaUser = "datasource db {\n provider = \"sqlite\"\n url = env(\"DATABASE_URL\")\n}\nmodel User {\n id String @id\n name String?\n email String?\n" +
		" emailVerified DateTime?\n image String?\n password String?\n role String?\n}\n"
)

// proposed returns the lines of a report and the proposal.
func proposed(t *testing.T, files map[string]string) (report, config string) {
	t.Helper()
	r, err := Read(application(t, files), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		report += f.String() + "\n"
	}
	return report, string(r.Config)
}

// TestSessionShowsNoMore: a value is shown only if the application shows it, as it is
// and to all people.
func TestSessionShowsNoMore(t *testing.T) {
	t.Parallel()
	const shown = "expose: {x: User.role}"
	for lines, want := range map[string]string{
		// the same value
		"session.user.x = user.role":                                                shown,
		"session.user.x = String(user.role)":                                        shown,
		"if (user) session.user.x = user.role":                                      shown,
		"if (session.user && user?.role) { session.user.x = user.role }":            shown,
		"if (!session.user || !user) return session\nsession.user.x = user.role":    shown,
		"if (!user) { return session }\nsession.user.x = user.role":                 shown,
		"const { role } = user\nsession.user.x = role":                              shown,
		"return {...session, user: {...session.user, ...(user && {x: user.role})}}": shown,
		"return {...session, user: {...session.user, x: user.role}}":                shown,
		// another value
		"session.user.x = Boolean(user.password)": "not understood: session.user.x",
		"session.user.x = !!user.password":        "not understood: session.user.x",
		"session.user.x = user.password !== null": "not understood: session.user.x",
		// a value of a local name
		"const user = await find(session)\nsession.user.x = user.role":    "not understood: session.user.x",
		"let user\nsession.user.x = user.role":                            "not understood: session.user.x",
		"user = await find(session)\nsession.user.x = user.role":          "not understood: session.user.x",
		"const profile = await find(session)\nsession.user.x = profile.y": "not understood: session.user.x",
		// only for some
		"if (user.email === 'root@example.com') session.user.x = user.password":                       "under a condition",
		"if (user.admin) { session.user.x = user.password }":                                          "under a condition",
		"if (!user.admin) return session\nsession.user.x = user.password":                             "under a condition",
		"if (user.banned) { return session }\nsession.user.x = user.password":                         "under a condition",
		"if (user.admin) { } else { session.user.x = user.password }":                                 "under a condition",
		"if (user) { if (user.admin) session.user.x = user.password }":                                "under a condition",
		"if (a(user)) { session.user.x = user.password }":                                             "under a condition",
		"return {...session, user: {...session.user, ...(user.admin && {x: user.password})}}":         "under a condition",
		"return user.admin ? {...session, user: {...session.user, x: user.password}} : session":       "under a condition",
		"return {...session, user: {...session.user, ...(user && user.admin && {x: user.password})}}": "under a condition",
		// less than GET session has
		"return {...session, user: {id: user.id}}":                                "session.user is replaced without name, email, image",
		"session.user = {id: user.id, name: user.name}":                           "session.user is replaced without email, image",
		"return {user: {...session.user, id: user.id}, expires: session.expires}": "expose: {id: id}",
	} {
		report, config := proposed(t, map[string]string{"schema.prisma": prismaUser,
			"auth.ts": prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: [], callbacks: {async session({session, user}) {\n" + lines + "\nreturn session\n}}})"})
		if strings.HasPrefix(want, "expose") {
			if !strings.Contains(config, want) || strings.Contains(report, "open  callback") {
				t.Errorf("%s: no %s in\n%s%s", lines, want, report, config)
			}
			continue
		}
		if !strings.Contains(report, want) || strings.Contains(config, "password") || strings.Contains(config, "x: ") {
			t.Errorf("%s: no %q in\n%s%s", lines, want, report, config)
		}
	}
}

// TestNoSecretsOfSources: a part of a secret in the source, or of a URL in a .env file,
// is a secret.
func TestNoSecretsOfSources(t *testing.T) {
	t.Parallel()
	const github, email = "import GitHub from 'next-auth/providers/github'\n", "import Email from 'next-auth/providers/email'\n"
	for _, c := range []struct{ env, source, want string }{
		{"", github + "NextAuth({providers: [GitHub({clientId: 'x', clientSecret: `${process.env.A}hunter2`})]})", "client_secret: \"${AUTHSVC_GITHUB_SECRET}\""},
		{"", github + "NextAuth({providers: [GitHub({clientId: 'x', clientSecret: `${process.env.A}${process.env.B}`})]})", "client_secret: \"${A}${B}\""},
		{"", email + "NextAuth({providers: [Email({from: 'a@b.c', server: `smtp://me:hunter2@${process.env.HOST}`})]})", "server: \"${AUTHSVC_EMAIL_SERVER}\""},
		{"", email + "NextAuth({providers: [Email({from: 'a@b.c', server: `smtp://me:${process.env.KEY}@mail.example.com`})]})", "server: \"smtp://me:${KEY}@mail.example.com\""},
		{"DATABASE_URL=libsql://me:hunter2@db.example.com", "NextAuth({adapter: PrismaAdapter(db), providers: []})", "url: \"${AUTHSVC_STORAGE_URL}\""},
		{"DATABASE_URL=encrypted:hunter2", "NextAuth({adapter: PrismaAdapter(db), providers: []})", "url: \"${AUTHSVC_STORAGE_URL}\""},
		{"DATABASE_URL=file:./app.db", "NextAuth({adapter: PrismaAdapter(db), providers: []})", "/prisma/app.db\n"},
		{"", github + "NextAuth({providers: [GitHub({clientId: 'x', clientSecret: process.env.A, authorization: 'https://x/?a=%24%7BHOME%7D'})]})", "client_secret: \"${A}\""},
	} {
		report, config := proposed(t, map[string]string{"auth.ts": prismaHead + c.source, ".env": c.env, "schema.prisma": prismaUser})
		if all := report + config; strings.Contains(all, "hunter2") || strings.Contains(config, "${HOME}") || !strings.Contains(config, c.want) {
			t.Errorf("%s %s: no %s in\n%s", c.env, c.source, c.want, all)
		}
	}
}

// TestScopes: a name has the value of the innermost block around it.
func TestScopes(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"function mail() {\n const secret = process.env.MAIL ?? 'x'\n}\nconst secret = process.env.APP ?? 'x'\nNextAuth({secret, providers: []})":        "secret: \"${APP}\"",
		"const secret = process.env.MAIL\nexport default (req, res) => {\n const secret = process.env.APP\n return NextAuth({secret, providers: []})\n}": "secret: \"${APP}\"",
		"function mail() {\n const secret = process.env.MAIL ?? 'x'\n}\nNextAuth({secret, providers: []})":                                               "secret: \"${NEXTAUTH_SECRET}\"",
	} {
		if report, config := proposed(t, map[string]string{"auth.ts": "import NextAuth from 'next-auth'\n" + source}); !strings.Contains(config, want) {
			t.Errorf("%s: no %s in\n%s%s", source, want, report, config)
		}
	}
}

// TestOtherApplications: of several applications in a folder, the version is that of the
// one with the options, and models that differ are named.
func TestOtherApplications(t *testing.T) {
	t.Parallel()
	const v4, v5 = `{"dependencies": {"next-auth": "^4.24"}}`, `{"dependencies": {"next-auth": "5.0.0-beta.25"}}`
	const locked = "packages:\n  next-auth@4.24.1:\n  next-auth@5.0.0-beta.25:\n"
	two := prismaUser[strings.Index(prismaUser, "model"):]
	for name, c := range map[string]struct {
		files      map[string]string
		want, none string
	}{
		"near":       {map[string]string{"a/package.json": v4, "b/package.json": v5, "b/auth.ts": smallest}, "ok    version: next-auth 5.0.0-beta.25 (b/package.json)", "open  version"},
		"lock of v5": {map[string]string{"package.json": v5, "pnpm-lock.yaml": locked, "auth.ts": smallest}, "ok    version: next-auth 5.0.0-beta.25 (pnpm-lock.yaml)", "open  version"},
		"lock of v4": {map[string]string{"package.json": v4, "pnpm-lock.yaml": locked, "auth.ts": smallest}, "ok    version: next-auth 4.24.1 (pnpm-lock.yaml)", "open  version"},
		"unclear":    {map[string]string{"package.json": `{"dependencies": {"next-auth": "catalog:"}}`, "pnpm-lock.yaml": locked, "auth.ts": smallest}, "open  version: unknown", "ok    version"},
		"copies":     {map[string]string{"a.prisma": prismaUser, "b.prisma": two, "auth.ts": prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: []})"}, "further columns", "another model"},
		"models": {map[string]string{"a.prisma": prismaUser, "b.prisma": strings.Replace(two, "role", "rank", 1), "auth.ts": prismaHead + "NextAuth({adapter: PrismaAdapter(db), providers: []})"},
			"open  tables: there is another model User in a.prisma", "rank"},
	} {
		if report, _ := proposed(t, c.files); !strings.Contains(report, c.want) || strings.Contains(report, c.none) {
			t.Errorf("%s: no line %q, or one with %q, in\n%s", name, c.want, c.none, report)
		}
	}
}

// TestNotSilent: what would give people other accounts, tables or cookies is open, or is
// in the proposal.
func TestNotSilent(t *testing.T) {
	t.Parallel()
	const head = "import NextAuth from 'next-auth'\nimport {MongoDBAdapter} from '@auth/mongodb-adapter'\nimport {PrismaAdapter} from '@acme/prisma-adapter'\n" +
		"import Hydra from 'next-auth/providers/ory-hydra'\nimport Duende from 'next-auth/providers/duende-identity-server6'\nimport GitHub from 'next-auth/providers/github'\n"
	for options, want := range map[string]string{
		"adapter: MongoDBAdapter(c, {collections: {Users: 'people'}}), providers: []":                   "open  tables: the second argument",
		"adapter: MongoDBAdapter(c), providers: []":                                                     "ok    tables: users,",
		"adapter: PrismaAdapter(c), providers: []":                                                      "open  adapter: @acme/prisma-adapter is not known",
		"useSecureCookies: false, providers: []":                                                        "open  useSecureCookies",
		"useSecureCookies: true, providers: []":                                                         "note  useSecureCookies",
		"providers: [Hydra({})]":                                                                        "{id: hydra, client_id",
		"providers: [Duende({})]":                                                                       "{id: duende-identityserver6, type: duende-identity-server6,",
		"providers: [isDevelopment && GitHub({})]":                                                      "open  providers: is there only",
		"providers: [process.env.GITHUB_ID && GitHub({})]":                                              "note  providers: is there only",
		"providers: [GitHub({profile: (p) => ({id: p.email})})]":                                        "open  provider github: profile() is not copied",
		"providers: [GitHub({profile: (p) => ({id: p.id.toString()})})]":                                "note  provider github: profile() is not copied",
		"providers: [], callbacks: {jwt({token, profile}) { token.name = profile.nick; return token }}": "open  callback jwt: token.name becomes another value",
		"providers: [], callbacks: {jwt({token, user}) { token.name = user.name; return token }}":       "ok    session: strategy jwt",
		"providers: [], callbacks: {jwt({token, trigger, session}) { if (trigger === 'update') token.name = session.name; return token }}": "open  callback jwt: token.name is a value of update(data)",
		"providers: [], callbacks: {jwt({token, session}) { token.plan = session.user.plan; return token }}":                               "open  callback jwt: token.plan is a value of update(data)",
		"providers: [], callbacks: {jwt({token, session}) { if (session.x) token.name = token.y; return token }}":                          "open  callback jwt: token.name is there only under a condition",
	} {
		report, config := proposed(t, map[string]string{"auth.ts": head + "NextAuth({" + options + "})"})
		if !strings.Contains(report+config, want) {
			t.Errorf("%s: no %q in\n%s%s", options, want, report, config)
		}
	}
	_, config := proposed(t, map[string]string{"auth.ts": smallest, "package.json": `{"dependencies": {"next-auth": "5.0.0"}}`, ".env": "AUTH_SECRET=a\nAUTH_SECRET_1=b\nAUTH_SECRET_2=c"})
	if want := "secret:\n  - \"${AUTH_SECRET_2}\"\n  - \"${AUTH_SECRET_1}\"\n  - \"${AUTH_SECRET}\"\n"; !strings.Contains(config, want) {
		t.Errorf("no %s in\n%s", want, config)
	}
	for key, want := range map[string]string{"isVIP": "is_vip", "userID2": "user_id_2", "HTMLParser": "html_parser", "emailVerified": "email_verified", "a1b": "a1b"} {
		if have := drizzleSnake(key); have != want {
			t.Errorf("%s is %s, want %s", key, have, want)
		}
	}
}

// TestWorkIsBounded: values that double at each line are not understood, and neither are
// lists that contain themselves.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	paths, templates := "token.a0 = profile.x ?? profile.y\n", "const t0 = '"+strings.Repeat("x", 1000)+"'\n"
	for i := range 40 {
		paths += fmt.Sprintf("token.a%d = token.a%d ?? token.a%d\n", i+1, i, i)
	}
	for i := range 12 {
		templates += fmt.Sprintf("const t%d = `${t%d}${t%d}`\n", i+1, i, i)
	}
	for source, want := range map[string]string{
		"NextAuth({providers: [], callbacks: {jwt({token, profile}) {\n" + paths + "return token}}})": "not understood: token.a40",
		templates + "NextAuth({providers: [], pages: {signIn: t12, error: t1}})":                      "not understood: signIn",
		"const a = [...a, ...a, " + strings.Repeat("x,", 20_000) + "]; NextAuth({providers: a})":      "not understood: more than 20000 references",
		"const a = () => { " + strings.Repeat("f;", 20_000) + " return {...a, ...a} }; NextAuth(a)":   "not understood: more than 20000 references",
	} {
		if report, config := proposed(t, map[string]string{"auth.ts": "import NextAuth from 'next-auth'\n" + source}); !strings.Contains(report, want) || len(config) > 1<<16 {
			t.Errorf("%.40s: no %q in\n%.2000s", source, want, report)
		}
	}
	m := newModule("a.ts", strings.Repeat("const a=class\n", 20_000))
	for at := range m.tokens {
		m.parse(at)
	}
	if !m.exhausted() || m.steps > 2*maxModuleSteps {
		t.Errorf("%d steps", m.steps)
	}
}

// TestTenant: the tenant in an issuer of Microsoft is not lost. If it cannot be read, the
// proposal names a variable, without which authsvc does not start.
func TestTenant(t *testing.T) {
	t.Parallel()
	const head = "import NextAuth from 'next-auth'\nimport Entra from 'next-auth/providers/microsoft-entra-id'\nimport FusionAuth from 'next-auth/providers/fusionauth'\n"
	const needed, open = `tenant_id: "${AUTHSVC_MICROSOFT_ENTRA_ID_TENANT_ID}"`, "open  provider microsoft-entra-id: the tenant is in the issuer"
	for _, c := range []struct{ options, env, want, none string }{
		{"Entra({issuer: process.env.TENANT_ISSUER})", "", needed, "TENANT_ISSUER"},
		{"Entra({issuer: find()})", "", needed, "issuer is not copied"},
		{"Entra({issuer: 'https://login.microsoftonline.us/7/v2.0'})", "", needed, "issuer is not copied"},
		{"Entra", "AUTH_MICROSOFT_ENTRA_ID_ISSUER=x", needed, "tenant_id: x"},
		{"Entra({issuer: 'https://login.microsoftonline.com/7/v2.0'})", "", `tenant_id: "7"`, open},
		{"Entra({issuer: `https://login.microsoftonline.com/${process.env.TENANT}/v2.0`})", "", `tenant_id: "${TENANT}"`, open},
		{"Entra", "", "microsoft-entra-id", "tenant_id"},
		{"FusionAuth({issuer: process.env.FUSION_ISSUER})", "", `issuer: "${FUSION_ISSUER}"`, "tenant"},
	} {
		report, config := proposed(t, map[string]string{"auth.ts": head + "NextAuth({providers: [" + c.options + "]})",
			".env": c.env, "package.json": `{"dependencies": {"next-auth": "5.0.0"}}`})
		if all := report + config; !strings.Contains(all, c.want) || strings.Contains(all, c.none) {
			t.Errorf("%s: want %s, without %s, have\n%s", c.options, c.want, c.none, all)
		}
		if strings.Contains(config, needed) != strings.Contains(report, open) {
			t.Errorf("%s: the report and the proposal differ:\n%s%s", c.options, report, config)
		}
	}
}
