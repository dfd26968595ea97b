package sqladapter

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSimilar compares tables of other programs with the shared ones. Each table is
// written as its name and its columns.
func TestSimilar(t *testing.T) {
	t.Parallel()
	const (
		user    = " id name email emailVerified image"
		account = " userId type provider providerAccountId"
		session = " sessionToken userId expires"
		token   = " identifier token expires"
	)
	all := []string{"User", "Account", "Session", "VerificationToken"}
	for name, c := range map[string]struct {
		naming  Naming
		missing []string
		tables  []string
		want    string // the proposal, after the schema; empty: there is none
	}{
		"none":                      {Naming{}, all, nil, ""},
		"another case":              {Naming{}, all, []string{"user" + user}, "tables: {User: user}"},
		"a preset":                  {Naming{}, all, []string{"users" + user, "accounts" + account, "sessions" + session, "verification_token" + token}, "naming: authjs"},
		"TypeORM":                   {Naming{}, all, []string{"users" + user, "accounts" + account, "sessions" + session, "verification_tokens" + token}, "naming: authjs` and `tables: {VerificationToken: verification_tokens}"},
		"other columns":             {Naming{}, all, []string{"User2 id name email email_verified image"}, "columns: {User.emailVerified: email_verified}"},
		"an odd name":               {Naming{}, all, []string{"my{user" + user}, `tables: {User: "my{user"}`},
		"a word of YAML":            {Naming{Tables: map[string]string{"User": "Null"}}, all, []string{"null" + user}, `tables: {User: "null"}`},
		"another schema":            {Naming{}, all, []string{"app.User" + user, "app.Session" + session}, "app "},
		"the schema with more":      {Naming{}, all, []string{"a.users" + user, "b.users" + user, "b.accounts" + account, "b.sessions" + session}, "b naming: authjs"},
		"a better name":             {Naming{}, []string{"User"}, []string{"old_user" + user, "user" + user}, "tables: {User: user}"},
		"not in use by another":     {Naming{Tables: map[string]string{"Account": "web_user"}}, []string{"User"}, []string{"web_user" + user}, ""},
		"only some columns":         {Naming{}, all, []string{"sessions sid sess expire", "account id balance", "tokens token expires", "app_users id email"}, ""},
		"users with an address":     {Naming{}, all, []string{"users id email password"}, "tables: {User: users}"},
		"users of a platform":       {Naming{}, all, []string{"auth.users id email encrypted_password", "auth.sessions id user_id created_at"}, ""},
		"a set of another system":   {Naming{}, []string{"VerificationToken"}, []string{"staging.User" + user, "staging.VerificationToken" + token}, ""},
		"users elsewhere, too":      {Naming{}, []string{"Account", "Session", "VerificationToken"}, []string{"app.User" + user, "app.Account" + account}, "app "},
		"a part elsewhere":          {Naming{}, []string{"Account", "VerificationToken"}, []string{"auth.Account" + account, "auth.VerificationToken" + token}, "auth "},
		"users without one":         {Naming{}, all, []string{"users id login"}, ""},
		"all columns, another name": {Naming{}, all, []string{"people" + user}, "tables: {User: people}"},
		"sessions, another name":    {Naming{}, all, []string{"logins" + session, "resets id" + token}, "tables: {Session: logins}"},
		"our own":                   {Naming{}, all, []string{"authsvc_user" + user, "authsvc_session" + session}, ""},
		"user columns stay":         {Naming{UserColumns: []string{"role"}}, all, []string{"user" + user + " role"}, "tables: {User: user}"},
		"a column that was named":   {Naming{Columns: map[string]string{"User.emailVerified": "confirmed"}}, all, []string{"user id email confirmed"}, "columns: {User.emailVerified: confirmed}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []Found
			for _, table := range c.tables {
				words := strings.Fields(table)
				f := Found{Name: words[0], Columns: words[1:]}
				if schema, name, other := strings.Cut(f.Name, "."); other {
					f.Schema, f.Name = schema, name
				}
				found = append(found, f)
			}
			names, err := c.naming.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			like := c.naming.Similar(names, c.missing, found, Naming.Resolve)
			if like == nil {
				if c.want != "" {
					t.Fatal("found none")
				}
				return
			}
			got := strings.Join(like.Naming.YAML(), "` and `")
			for _, line := range like.Naming.YAML() {
				if err := yaml.Unmarshal([]byte("storage:\n  "+line), &map[string]any{}); err != nil {
					t.Errorf("%s is not YAML: %v", line, err)
				}
			}
			if like.Schema != "" {
				got = like.Schema + " " + got
			}
			if c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(like.Naming.UserColumns) != len(c.naming.UserColumns) {
				t.Errorf("user columns %q", like.Naming.UserColumns)
			}
			if _, err := like.Naming.Resolve(); err != nil {
				t.Errorf("the proposal cannot be used: %v", err)
			}
		})
	}
}
