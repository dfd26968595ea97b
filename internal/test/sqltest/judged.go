package sqltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// A JudgedCase is the schema of an application with one column that differs.
type JudgedCase struct {
	Schema string
	// Refused and Warned are parts of what is said about the column. Both are empty if
	// the column is usable.
	Refused, Warned string
	// ByHand means that no statement is proposed.
	ByHand bool
}

// JudgesColumns checks that a column that never takes what is written is refused, that
// one that takes it for some people causes a warning, and that the proposed statements
// make both usable.
func JudgesColumns(t *testing.T, d *Database, cases map[string]JudgedCase) {
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := d.With(t, c.Schema)
			said := d.judgement(t, url, c)
			if c.Refused+c.Warned != "" && !c.ByHand {
				_, remedy, found := strings.Cut(said, ": ALTER TABLE ")
				if !found {
					t.Fatalf("no remedy: %s", said)
				}
				remedy, _, _ = strings.Cut(remedy, "\n")
				statements := strings.ReplaceAll("ALTER TABLE "+remedy+";\n", "; ", ";\n")
				if err := d.Execute(t.Context(), url, statements); err != nil {
					t.Fatalf("the remedy does not work: %v", err)
				}
			} else if c.Refused != "" {
				return
			}
			s := d.Opened(t, url, true)
			if warnings := warningsOf(t, s); !c.ByHand && len(warnings) > 0 {
				t.Errorf("with the remedy: %s", warnings)
			}
			signsIn(t, s, c.ByHand)
		})
	}
}

// judgement returns what is said about a database.
func (d *Database) judgement(t *testing.T, url string, c JudgedCase) string {
	t.Helper()
	s, err := d.Open(t.Context(), url, true)
	if err != nil {
		if c.Refused == "" || !strings.Contains(err.Error(), c.Refused) {
			t.Fatalf("got %v, want %q", err, c.Refused)
		}
		if made := d.added(t, d.Connected(t, url)); len(made) > 0 {
			t.Errorf("refused, but made %s", made)
		}
		return err.Error()
	}
	CloseAtEnd(t, s)
	if c.Refused != "" {
		t.Fatalf("not refused: %s", c.Refused)
	}
	warnings := warningsOf(t, s)
	if c.Warned == "" && len(warnings) > 0 || c.Warned != "" && !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, c.Warned) }) {
		t.Fatalf("warnings %q, want %q", warnings, c.Warned)
	}
	return strings.Join(warnings, "\n")
}

// warningsOf returns the warnings about tables.
func warningsOf(t *testing.T, s Store) []string {
	t.Helper()
	list, err := s.Warnings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(w string) bool { return !strings.HasPrefix(w, "table ") })
}

// signsIn stores the longest values of every column and reads them again, then a person
// with as few values as possible. short leaves out both, and the time of day of
// emailVerified.
func signsIn(t *testing.T, s Store, short bool) {
	t.Helper()
	long := func(n int) string { return strings.Repeat("x", n) }
	at := time.Date(2030, 7, 1, 12, 30, 59, 0, time.UTC)
	u := authsvc.User{ID: "01890a5d-ac96-774b-bcce-b302099a8057", Name: "Ada", Email: "ada@example.com", EmailVerified: at, Image: "https://example.com/ada.png"}
	a := authsvc.Account{ID: "01890a5d-ac96-774b-bcce-b302099a8058", Type: "oauth", Provider: "acme", ProviderAccountID: "7", ExpiresAt: at.Unix(),
		AccessToken: "a", RefreshToken: "r", IDToken: "i", TokenType: "bearer", Scope: "openid", SessionState: "s"}
	exact := time.Duration(1)
	if short {
		exact = 24 * time.Hour
	} else {
		u.Name, u.Image, a.Scope = long(255), "https://example.com/"+long(2028), long(255)
	}
	r := adapter.SessionRecord{ID: "01890a5d-ac96-774b-bcce-b302099a8059", SessionToken: "sha256:" + long(43), Digest: long(43), Expires: at, Began: at}
	u, err := s.SignUp(t.Context(), u, &a, &r, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, user, err := s.GetSession(t.Context(), r.SessionToken, r.Digest)
	if err != nil || !got.Expires.Equal(at) || user.Name != u.Name || user.Image != u.Image || !user.EmailVerified.Truncate(exact).Equal(at.Truncate(exact)) || user.ID != u.ID {
		t.Errorf("read %+v of %+v: %v", got, user, err)
	}
	accounts, err := s.ListAccounts(t.Context(), u.ID)
	if err != nil || len(accounts) != 1 || accounts[0].ExpiresAt != at.Unix() || accounts[0].Scope != a.Scope {
		t.Errorf("accounts %+v: %v", accounts, err)
	}
	if short {
		return
	}
	if _, err := s.SignUp(t.Context(), authsvc.User{ID: "01890a5d-ac96-774b-bcce-b302099a8060"}, &authsvc.Account{ID: "01890a5d-ac96-774b-bcce-b302099a8061", Type: "email", Provider: "email", ProviderAccountID: "b@example.com"}, nil, "", nil); err != nil {
		t.Errorf("a person without values: %v", err)
	}
	link := adapter.VerificationToken{Identifier: "ada@example.com", Token: long(64), Expires: at}
	if err := s.PutToken(t.Context(), link, adapter.Mail{ID: "m", Due: at, Expires: at}, 10); err != nil {
		t.Fatal(err)
	}
	if taken, _, err := s.TakeToken(t.Context(), link.Identifier, link.Token, at); err != nil || !taken.Expires.Equal(at) {
		t.Errorf("link until %v, %v", taken.Expires, err)
	}
}

// SaysWhatFailed changes a column under an open store, so that a sign-in fails, and
// checks that the error names the cause. Each key of cases is a statement. The error must
// not contain values of the row.
func SaysWhatFailed(t *testing.T, d *Database, schema string, cases map[string]string) {
	t.Parallel()
	for statement, want := range cases {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			url := d.With(t, schema)
			s := d.Opened(t, url, true)
			if err := d.Execute(t.Context(), url, statement+";\n"); err != nil {
				t.Fatal(err)
			}
			a := authsvc.Account{ID: "a", Type: "oauth", Provider: "acme", ProviderAccountID: "secret'7\"", AccessToken: "secret", ExpiresAt: 77777}
			_, err := s.SignUp(t.Context(), authsvc.User{ID: "u", Email: "secret@example.com", EmailVerified: time.Unix(77777, 0)}, &a, nil, "", nil)
			if err == nil || errors.Is(err, adapter.ErrNotFound) || errors.Is(err, adapter.ErrConflict) || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %q", err, want)
			}
			for _, value := range []string{"secret", "77777", "oauth", "1970"} {
				if strings.Contains(err.Error(), value) {
					t.Errorf("the error contains a value: %v", err)
				}
			}
		})
	}
}
