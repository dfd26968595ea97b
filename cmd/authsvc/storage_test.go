package main

import (
	"strings"
	"testing"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/test/servertest"
)

// TestCompatWithRedis: whoever moves from NextAuth and keeps sessions in a
// Redis of their own is told that nobody stays signed in.
func TestCompatWithRedis(t *testing.T) {
	t.Parallel()
	server, prefix := servertest.Redis(t)
	for name, c := range map[string]struct {
		compat   authsvc.Compat
		strategy string
		sessions string
		want     bool
	}{
		"v4":                     {authsvc.NextAuthV4, "", server, true},
		"v5":                     {authsvc.AuthJSV5, "database", server, true},
		"sessions in the tables": {authsvc.NextAuthV4, "database", "", false},
		"sessions in cookies":    {authsvc.NextAuthV4, "jwt", server, false},
		"nobody moves":           {authsvc.CompatNone, "database", server, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &config.Settings{Storage: config.Storage{URL: "memory:", Sessions: c.sessions, Prefix: prefix}}
			s.Engine.Compat, s.Engine.Session.Strategy = c.compat, c.strategy
			st, err := openStore(t.Context(), s, true)
			if err != nil {
				t.Fatal(err)
			}
			defer st.close()
			if warned := strings.Contains(strings.Join(st.warnings, "\n"), "has to sign in again"); warned != c.want {
				t.Errorf("warnings %q, want one: %t", st.warnings, c.want)
			}
		})
	}
}
