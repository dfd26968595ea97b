package postgres

import (
	"strings"
	"testing"

	"authsvc/internal/test/sqltest"
)

func TestJudgesColumns(t *testing.T) {
	with := func(old, changed string) string { return sqltest.Replace(t, prisma, old, changed) }
	const role = `CREATE TYPE kind AS ENUM ('oauth', 'email');
`
	sqltest.JudgesColumns(t, testDatabase, map[string]sqltest.JudgedCase{
		"ours":   {},
		"Prisma": {Schema: prisma},
		"wide enough": {Schema: strings.NewReplacer(`"name" TEXT`, `"name" VARCHAR(255)`, `"sessionToken" TEXT`, `"sessionToken" VARCHAR(50)`, `"image" TEXT`, `"image" VARCHAR(2048)`,
			`"email" TEXT`, `"email" CITEXT`, `"expires_at" INTEGER`, `"expires_at" BIGINT`, `"emailVerified" TIMESTAMP(3)`, `"emailVerified" TIMESTAMPTZ`).Replace("CREATE EXTENSION citext;\n" + prisma)},
		"a domain": {Schema: "CREATE DOMAIN moment AS timestamptz;\nCREATE DOMAIN words AS varchar(255);\n" + strings.NewReplacer(`"name" TEXT`, `"name" words`, `"emailVerified" TIMESTAMP(3)`, `"emailVerified" moment`).Replace(prisma)},

		"a domain of a domain": {Schema: "CREATE DOMAIN word AS text;\nCREATE DOMAIN words AS word;\n" + strings.NewReplacer(`"name" TEXT`, `"name" words`, `"Session" ("id" TEXT`, `"Session" ("id" words`).Replace(prisma)},
		"emailVerified DATE":   {Schema: with(`"emailVerified" TIMESTAMP(3)`, `"emailVerified" DATE`), ByHand: true},
		"a narrow domain":      {Schema: "CREATE DOMAIN words AS varchar(36);\n" + with(`"sessionToken" TEXT`, `"sessionToken" words`), Refused: `table Session: column sessionToken (words) is too narrow for values of 50 characters`},

		"name NOT NULL":          {Schema: with(`"name" TEXT`, `"name" TEXT NOT NULL`), Warned: `table User: column name (text) is NOT NULL; sign-ins that bring no value for it will fail`},
		"name with a default":    {Schema: with(`"name" TEXT`, `"name" TEXT NOT NULL DEFAULT ''`), Warned: `column name (text) is NOT NULL`},
		"a domain NOT NULL":      {Schema: "CREATE DOMAIN words AS text NOT NULL;\n" + with(`"name" TEXT`, `"name" words`), Warned: `column name (words) is NOT NULL`, ByHand: true},
		"email NOT NULL":         {Schema: with(`"email" TEXT`, `"email" TEXT NOT NULL`), Warned: `column email (text) is NOT NULL`},
		"image narrow":           {Schema: with(`"image" TEXT`, `"image" VARCHAR(255)`), Warned: `table User: column image (character varying(255)) is too narrow for some values, which have up to 2048 characters`},
		"an enum":                {Schema: role + with(`"type" TEXT`, `"type" kind`), Warned: `table Account: column type (kind) takes only some values`},
		"session_state NOT NULL": {Schema: with(`"session_state" TEXT`, `"session_state" VARCHAR(20) NOT NULL`), Warned: `column session_state (character varying(20)) is too narrow`},

		"emailVerified BOOLEAN":          {Schema: with(`"emailVerified" TIMESTAMP(3)`, `"emailVerified" BOOLEAN`), Refused: `table User: column emailVerified (boolean) cannot hold times: ALTER TABLE "User"`},
		"emailVerified BOOLEAN NOT NULL": {Schema: with(`"emailVerified" TIMESTAMP(3)`, `"emailVerified" BOOLEAN NOT NULL DEFAULT false`), Refused: `column emailVerified (boolean) cannot hold times`},
		"expires_at TIMESTAMP":           {Schema: with(`"expires_at" INTEGER`, `"expires_at" TIMESTAMP`), Refused: `table Account: column expires_at (timestamp without time zone) cannot hold seconds since 1970`},
		"expires_at TEXT":                {Schema: with(`"expires_at" INTEGER`, `"expires_at" TEXT`), Refused: `column expires_at (text) cannot hold seconds`},
		"expires_at NUMERIC":             {Schema: with(`"expires_at" INTEGER`, `"expires_at" NUMERIC`), Refused: `column expires_at (numeric) cannot hold seconds`},
		"expires_at SMALLINT":            {Schema: with(`"expires_at" INTEGER`, `"expires_at" SMALLINT`), Refused: `column expires_at (smallint) cannot hold seconds`},
		"sessionToken narrow":            {Schema: with(`"sessionToken" TEXT`, `"sessionToken" VARCHAR(36)`), Refused: `table Session: column sessionToken (character varying(36)) is too narrow for values of 50 characters`},
		"sessionToken UUID":              {Schema: with(`"sessionToken" TEXT NOT NULL`, `"sessionToken" UUID NOT NULL DEFAULT gen_random_uuid()`), Refused: `column sessionToken (uuid) cannot hold text`},
		"token narrow":                   {Schema: with(`"token" TEXT`, `"token" VARCHAR(36)`), Refused: `table VerificationToken: column token (character varying(36)) is too narrow for values of 64`},
		"Session.expires TEXT":           {Schema: with(`"expires" TIMESTAMP(3) NOT NULL,`, `"expires" TEXT NOT NULL,`), Refused: `table Session: column expires (text) cannot hold times`},
		"Session.expires DATE":           {Schema: with(`"expires" TIMESTAMP(3) NOT NULL,`, `"expires" DATE NOT NULL,`), Refused: `column expires (date) cannot hold times`},
		"Session.expires BIGINT":         {Schema: with(`"expires" TIMESTAMP(3) NOT NULL,`, `"expires" BIGINT NOT NULL,`), Refused: `column expires (bigint) cannot hold times`},
		"scope as an array":              {Schema: with(`"scope" TEXT`, `"scope" TEXT[]`), Refused: `column scope (text[]) cannot hold text`},
		"image JSON":                     {Schema: with(`"image" TEXT`, `"image" JSONB`), Refused: `column image (jsonb) cannot hold text`},
		"userId of another type": {Schema: strings.NewReplacer(`REFERENCES "User"("id")`, `REFERENCES "User"("id")`).Replace(
			sqltest.Replace(t, with(`"Session" ("id" TEXT NOT NULL, "sessionToken" TEXT NOT NULL, "userId" TEXT`, `"Session" ("id" TEXT NOT NULL, "sessionToken" TEXT NOT NULL, "userId" UUID`),
				`ALTER TABLE "Session" ADD CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;`, ``)),
			Refused: `table Session: column userId (uuid) cannot refer to User.id (text)`},
		"a generated name": {Schema: with(`"name" TEXT`, `"name" TEXT GENERATED ALWAYS AS (upper("image")) STORED`), Refused: `column name (text) is generated by the database`, ByHand: true},
		"an ID narrow":     {Schema: with(`"User" ("id" TEXT`, `"User" ("id" VARCHAR(25)`), Refused: `column id (character varying(25)) is too narrow for ids of 36 characters`},
	})
}

// TestTypeInAnotherSchema: an extension may be installed in a schema outside search_path.
func TestTypeInAnotherSchema(t *testing.T) {
	t.Parallel()
	url := testDatabase.With(t, "CREATE SCHEMA extensions;\nCREATE EXTENSION citext SCHEMA extensions;\nCREATE SCHEMA app;\nSET search_path = app, extensions;\n"+
		sqltest.Replace(t, prisma, `"email" TEXT`, `"email" CITEXT`)+"RESET search_path;\n")
	s, err := Open(t.Context(), within(url, "search_path=app"), Options{Migrate: true, Shares: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	if list, err := s.Warnings(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("warnings %q, %v", list, err)
	}
}

// within adds a parameter to a URL.
func within(url, parameter string) string {
	return url + map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + parameter
}

// TestPlainSessionTokens: in the compat modes, session tokens are stored as they are, and
// are shorter than digests.
func TestPlainSessionTokens(t *testing.T) {
	t.Parallel()
	for width, works := range map[string]bool{"VARCHAR(42)": false, "VARCHAR(43)": true} {
		s, err := Open(t.Context(), testDatabase.With(t, sqltest.Replace(t, prisma, `"sessionToken" TEXT`, `"sessionToken" `+width)), Options{Migrate: true, Shares: true})
		if err == nil {
			sqltest.CloseAtEnd(t, s)
		}
		if (err == nil) != works {
			t.Errorf("%s: %v", width, err)
		}
	}
}

func TestSaysWhatFailed(t *testing.T) {
	sqltest.SaysWhatFailed(t, testDatabase, prisma+"CREATE TYPE kind AS ENUM ('email');\n", map[string]string{
		`ALTER TABLE "User" ALTER "name" SET NOT NULL`:                                `null value in column "name" of relation "User" violates not-null constraint (SQLSTATE 23502, table User, column name)`,
		`ALTER TABLE "User" ADD CONSTRAINT ours CHECK ("email" LIKE '%@example.org')`: `violates check constraint "ours" (SQLSTATE 23514, table User, constraint ours)`,
		`ALTER TABLE "Account" ALTER "access_token" TYPE VARCHAR(3)`:                  `value too long for type character varying(3) (SQLSTATE 22001)`,
		`ALTER TABLE "Account" ALTER "type" TYPE kind USING NULL`:                     `invalid input value for enum kind: … (SQLSTATE 22P02)`,
		`ALTER TABLE "Account" ALTER "access_token" TYPE TIMESTAMP USING NULL`:        `invalid input syntax for type timestamp: … (SQLSTATE 22007)`,
		`ALTER TABLE "Account" ALTER "expires_at" TYPE SMALLINT`:                      `unable to encode a value into binary format for int2`,
		`ALTER TABLE "User" ALTER "emailVerified" TYPE BOOLEAN USING NULL`:            `type boolean`,
		`ALTER TABLE "Account" ALTER "expires_at" TYPE TIMESTAMP USING NULL`:          `unable to encode a value into binary format for timestamp`,
	})
}
