package sqladapter

import (
	"fmt"
	"strings"
	"testing"
)

func TestNaming(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		naming Naming
		want   map[string]string
	}{
		"default": {Naming{}, map[string]string{"User": "User", "Account.userId": "userId", "Account.refresh_token": "refresh_token",
			"VerificationToken": "VerificationToken", "Session.sessionToken": "sessionToken"}},
		"prisma": {Naming{Preset: "prisma"}, map[string]string{"User": "User"}},
		"snake": {Naming{Preset: "snake"}, map[string]string{"User": "users", "Account": "accounts", "Session": "sessions",
			"VerificationToken": "verificationtokens", "User.emailVerified": "email_verified", "Account.providerAccountId": "provider_account_id",
			"Account.refresh_token": "refresh_token", "Account.expires_at": "expires_at", "Session.userId": "user_id", "Session.id": "id"}},
		"authjs": {Naming{Preset: "authjs"}, map[string]string{"User": "users", "Account": "accounts", "Session": "sessions",
			"VerificationToken": "verification_token", "User.emailVerified": "emailVerified", "Account.userId": "userId"}},
		"renamed": {Naming{Preset: "snake", Tables: map[string]string{"User": "People"}, Columns: map[string]string{"User.image": "Avatar"}},
			map[string]string{"User": "People", "User.image": "Avatar", "User.emailVerified": "email_verified", "Account": "accounts"}},
	} {
		names, err := c.naming.Resolve()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for logical, want := range c.want {
			if names[logical] != want {
				t.Errorf("%s: %s is %q, want %q", name, logical, names[logical], want)
			}
		}
	}
}

func TestNamingRefuses(t *testing.T) {
	t.Parallel()
	table := func(logical, physical string) Naming { return Naming{Tables: map[string]string{logical: physical}} }
	column := func(logical, physical string) Naming { return Naming{Columns: map[string]string{logical: physical}} }
	for want, n := range map[string]Naming{
		`unknown preset "camel"`:             {Preset: "camel"},
		`unknown table "Users"`:              table("Users", "x"),
		`unknown table "User.id"`:            table("User.id", "x"),
		`unknown column "User"`:              column("User", "x"),
		`unknown column "User.email_verif`:   column("User.email_verified", "x"),
		`"" is not a name`:                   table("User", ""),
		`"a\x00b" is not a name`:             column("User.id", "a\x00b"),
		`is not a name: write 1 to 63 bytes`: table("User", strings.Repeat("x", 64)),
		`prefix authsvc_ is reserved`:        table("Session", "AUTHSVC_session"),
		`two tables are called "account"`:    table("User", "ACCOUNT"),
		`table User has two columns "email"`: column("User.name", "Email"),
	} {
		if _, err := n.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	names, err := Naming{Tables: map[string]string{"User": `{User.id} ?`}}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	brackets := func(s string) string { return "[" + s + "]" }
	d := Dialect{Quote: brackets, Placeholder: func(n int) string { return fmt.Sprintf("$%d", n) }}
	got, err := names.Expand(d.Rebind(`SELECT {User.id} FROM {User} WHERE {User.name} = ? OR {User.email} = ?`), d.Quote)
	if want := `SELECT [id] FROM [{User.id} ?] WHERE [name] = $1 OR [email] = $2`; got != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	for _, text := range []string{`{Nobody}`, `{User.Email}`, `{`, `{User`} {
		if got, err := names.Expand(text, brackets); err == nil {
			t.Errorf("%s: got %s", text, got)
		}
	}
}
