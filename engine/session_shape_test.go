package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// everyMode calls f in all modes, with both strategies.
func everyMode(t *testing.T, f func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy)) {
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			t.Run(fmt.Sprintf("%s/%s", mode, strategy), func(t *testing.T) {
				t.Parallel()
				f(t, mode, strategy)
			})
		}
	}
}

// sessionOf returns the result of Service.Session for a browser.
func sessionOf(t *testing.T, w *arena.World, b *arena.Browser) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest("GET", arena.Origin+"/", nil)
	for _, name := range b.SessionCookies() {
		r.Header.Add("Cookie", name+"="+b.Cookies[name])
	}
	s, err := w.Session(r)
	if err != nil || s == nil {
		t.Fatalf("session: %v, %v\n%s", s, err, w.Logs)
	}
	return s
}

// userOf returns the members of user in GET session, without name, email, image and id.
func userOf(t *testing.T, b *arena.Browser) string {
	t.Helper()
	body := b.Get("/api/auth/session").Text
	if !json.Valid([]byte(body)) {
		t.Fatalf("GET session: %s", body)
	}
	user, _, _ := strings.Cut(body, `},"expires":`)
	_, image, _ := strings.Cut(user, `"image":`)
	_, user, _ = strings.Cut(image, ",") // the picture has no comma
	return strings.Trim(shownID.ReplaceAllString(user, ","), ",")
}

var shownID = regexp.MustCompile(`(^|,)"id":"[^"]*"(,|$)`)

// TestID: GET session shows the id of the user; in compat modes, only if it is exposed,
// as with NextAuth.js. Another value can have its name.
func TestID(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		for _, c := range []struct {
			expose map[string]string
			want   func(s *authsvc.Session) any
		}{
			{nil, func(s *authsvc.Session) any {
				if mode != authsvc.CompatNone {
					return nil
				}
				return s.UserID
			}},
			{map[string]string{"id": "id"}, func(s *authsvc.Session) any { return s.UserID }},
			{map[string]string{"id": "provider"}, func(*authsvc.Session) any { return "op" }},
		} {
			seen := 0
			w := arena.Start(t, func(config *authsvc.Config) {
				config.Compat, config.Session.Strategy, config.Session.Expose = mode, strategy, c.expose
				config.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
					if _, shown := p.Session["user"].(map[string]any)["id"]; shown {
						seen++
					}
					return p.Session, nil
				}
			})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			s := sessionOf(t, w, b)
			want := c.want(s)
			user := b.Session()["user"].(map[string]any)
			if got, shown := user["id"]; got != want || shown != (want != nil) || (seen > 0) != shown {
				t.Errorf("expose %v: %v, want the id %v; the callback saw it %d times", c.expose, user, want, seen)
			}
		}
	})
}

// TestEmailVerified: a session knows whether its address was proved.
func TestEmailVerified(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = mode, strategy
			c.Session.Expose = map[string]string{"verified": "email_verified", "by": "provider"}
		})
		for name, c := range map[string]struct {
			signIn func(*arena.Browser)
			by     string
			want   bool
		}{
			"verified by the provider":     {func(b *arena.Browser) { b.SignIn(w.OP, "ada") }, "op", true},
			"not verified by the provider": {func(b *arena.Browser) { b.SignIn(w.OP, "alan") }, "op", false},
			"without an address":           {func(b *arena.Browser) { b.SignIn(w.OP, "katherine") }, "op", false},
			"by a link":                    {func(b *arena.Browser) { b.SignInByMail(w, "link@app.test") }, "email", true},
		} {
			b := w.Browser()
			c.signIn(b)
			s := sessionOf(t, w, b)
			if s.EmailVerified != c.want || s.Provider != c.by {
				t.Errorf("%s: %v by %s, want %v", name, s.EmailVerified, s.Provider, c.want)
			}
			want := fmt.Sprintf(`"by":%q,"verified":%v`, c.by, c.want)
			if got := userOf(t, b); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// TestEmailVerifiedWithoutStorage: only the token can remember it.
func TestEmailVerifiedWithoutStorage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter = nil
		c.Providers = c.Providers[:1]
	})
	for sub, want := range map[string]bool{"ada": true, "alan": false} {
		b := w.Browser()
		b.SignIn(w.OP, sub)
		if s := sessionOf(t, w, b); s.EmailVerified != want {
			t.Errorf("%s: %v", sub, s.EmailVerified)
		}
	}
}

// TestEmailVerifiedIsOfThatAddress: a JWT callback can change the address, but not
// whether it was proved.
func TestEmailVerifiedIsOfThatAddress(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.Trigger == "update" {
				p.Claims["email"], p.Claims["authsvc_email_verified"] = p.Data, p.Data
			}
			return p.Claims, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if s := sessionOf(t, w, b); !s.EmailVerified {
		t.Fatal("not verified at first")
	}
	token := b.CSRF()
	b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+token+`","data":"boss@app.test"}`)
	if s := sessionOf(t, w, b); s.EmailVerified || s.Email != "boss@app.test" {
		t.Errorf("%s verified: %v", s.Email, s.EmailVerified)
	}
}

// TestClaimsAreTheEngines: a JWT callback cannot change the claims kept with the
// session.
func TestClaimsAreTheEngines(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Strategy, c.Session.UpdateAge = "jwt", -1
		c.Session.Claims, c.Session.Expose = map[string]string{"groups": "groups"}, map[string]string{"groups": "groups"}
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if kept, ok := p.Claims["authsvc_session"].(map[string]any); ok && p.Trigger == "update" {
				kept["claims"].(map[string]any)["groups"] = p.Data
				p.Claims["taken"] = p.Data
			}
			return p.Claims, nil
		}
	})
	giveClaims(w, map[string]any{"groups": []string{"staff"}})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	for range 2 {
		b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":["ops"]}`)
		if got := userOf(t, b); got != `"groups":["staff"]` {
			t.Errorf("%s", got)
		}
	}
	if s := sessionOf(t, w, b); fmt.Sprint(s.Token()["taken"]) != "[ops]" || fmt.Sprint(s.Claims()["groups"]) != "[staff]" {
		t.Errorf("%v, %v", s.Token(), s.Claims())
	}
}

// TestExposeMistakes: all mistakes are reported at once.
func TestExposeMistakes(t *testing.T) {
	t.Parallel()
	c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorizeAda}}}
	c.Session.Expose = map[string]string{"email": "id", "ok": "id", "": "id", "__proto__": "id", "a.b": "id", "x": "ID", "y": strings.Repeat("z", 100), "w": "claims.w", "v": "User.v"}
	var got []string
	for _, e := range authsvc.ConfigErrors(engine.Check(c)) {
		got = append(got, e.Field+" "+e.Problem)
	}
	want := []string{
		"Session.Expose is not a usable name", "Session.Expose.__proto__ is not a usable name", "Session.Expose.a.b is not a usable name",
		"Session.Expose.email is always shown, and cannot have another value", `Session.Expose.v names the column "v", which is not read`,
		`Session.Expose.w names the claim "w", which the session does not keep`, `Session.Expose.x "ID" is not known`, `Session.Expose.y "` + strings.Repeat("z", 64) + `…" is not known`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c.Session.Expose = map[string]string{"ok": "id"}
	if err := engine.Check(c); err != nil {
		t.Error(err)
	}
}

// giveClaims adds claims about every user to the provider's answers.
func giveClaims(w *arena.World, more map[string]any) {
	w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) { maps.Copy(claims, more) }})
}

// TestSessionClaims: the configured claims stay with the session from the sign-in on.
func TestSessionClaims(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy, c.Session.UpdateAge = mode, strategy, -1
			c.Session.Claims = map[string]string{"groups": "groups", "dept": `org."the dept"`, "level": "level", "admin": "realm.admin", "missing": "nothing", "whole": "org", "first": "groups[0]"}
			c.Session.Expose = map[string]string{"groups": "claims.groups", "department": "dept", "level": "level", "missing": "missing"}
		})
		giveClaims(w, map[string]any{"groups": []string{"ops", "é <b>"}, "org": map[string]any{"the dept": "R&D"}, "level": 7, "realm": map[string]any{"admin": true}})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		giveClaims(w, map[string]any{"groups": []string{"later"}}) // read at the sign-in only
		for range 2 {                                              // with jwt the token is reissued each time
			if got, want := userOf(t, b), `"department":"R\u0026D","groups":["ops","é \u003cb\u003e"],"level":7,"missing":null`; got != want {
				t.Errorf("GET session: %s, want %s", got, want)
			}
		}
		s := sessionOf(t, w, b)
		want := authsvc.Claims{"groups": []any{"ops", "é <b>"}, "dept": "R&D", "level": int64(7), "admin": true, "whole": map[string]any{"the dept": "R&D"}, "first": "ops"}
		if diff := cmp.Diff(want, s.Claims()); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		type me struct {
			ID, Name, Email string
			Verified        bool `json:"email_verified"`
			Groups          []string
			Department      string
			Dept            string
			Level           int
			Admin           bool
		}
		got, err := authsvc.Decode[me](s)
		if want := (me{s.UserID, "Ada Lovelace", "ada@example.com", true, []string{"ops", "é <b>"}, "R&D", "R&D", 7, true}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("decoded %+v, %v", got, err)
		}
		if _, err := authsvc.Decode[struct{ Level string }](s); err == nil {
			t.Error("a number was decoded as text")
		}
	})
}

// TestSessionClaimsTooLarge: no user is signed in with half of the claims.
func TestSessionClaimsTooLarge(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = mode, strategy
			c.Session.Claims = map[string]string{"groups": "groups"}
		})
		most := 4<<10 - len(`{"groups":""}`)
		for size, signedIn := range map[int]bool{most: true, most + 1: false} {
			giveClaims(w, map[string]any{"groups": strings.Repeat("x", size)})
			b := w.Browser()
			a := b.SignIn(w.OP, "ada")
			if (b.Email() != "") != signedIn || !signedIn && !strings.Contains(a.Location(), "error=Callback") {
				t.Errorf("%d bytes: signed in as %q, %s", size, b.Email(), a.Location())
			}
		}
		if !strings.Contains(w.Logs.String(), "claims of the session are larger than 4 KiB") {
			t.Errorf("no cause in the log:\n%s", w.Logs)
		}
	})
}

// TestClaimsCallback: the callback has the last word, and can refuse.
func TestClaimsCallback(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Strategy = strategy
			c.Session.Claims = map[string]string{"groups": "groups"}
			c.Session.Expose = map[string]string{"roles": "claims.roles"}
			c.Callbacks.Claims = func(_ context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
				switch {
				case a.Account.ProviderAccountID == "grace":
					return kept, errors.New("no")
				case a.Account.ProviderAccountID == "alan":
					panic("oops")
				case a.Account.ProviderAccountID == "katherine":
					return authsvc.Claims{"f": func() {}}, nil
				case kept != nil:
					return nil, errors.New("claims of an unknown account")
				}
				return authsvc.Claims{"roles": []string{a.User.Name, a.Profile.Text("sub")}}, nil
			}
		})
		for sub, word := range map[string]string{"grace": "error=AccessDenied", "alan": "error=AccessDenied", "katherine": "error=Callback"} {
			b := w.Browser()
			if a := b.SignIn(w.OP, sub); !strings.Contains(a.Location(), word) || b.Session()["user"] != nil {
				t.Errorf("%s: %s", sub, a.Location())
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", sub); err == nil {
				t.Errorf("%s is stored", sub)
			}
		}
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if got, want := userOf(t, b), `"roles":["Ada Lovelace","ada"]`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSessionCallbackSeesWhatIsShown: the callback gets the default object with the
// exposed fields.
func TestSessionCallbackSeesWhatIsShown(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Expose = map[string]string{"id": "id", "by": "provider"}
		c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			p.Session["seen"] = p.Session["user"].(map[string]any)["id"] == p.User.ID
			return p.Session, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if s := b.Session(); s["seen"] != true || s["user"].(map[string]any)["by"] != "op" {
		t.Errorf("%v", s)
	}
}

// withColumns is a store whose users have a role, a plan and a day.
func withColumns(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New("role", "plan", "since", "email_verified")
	return s
}

func setExtra(t *testing.T, s *memory.Store, userID, role string) {
	t.Helper()
	extra := map[string]any{"role": role, "plan": nil, "since": time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), "email_verified": int64(1)}
	if err := s.SetExtra(t.Context(), userID, extra); err != nil {
		t.Fatal(err)
	}
}

// TestUserColumns: columns of the application are in the session: at once with strategy
// database; with jwt at the sign-in, at update() and when the token is reissued.
func TestUserColumns(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		store := withColumns(t)
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Adapter, c.Compat, c.Session.Strategy = store, mode, strategy
			c.Session.Expose = map[string]string{"role": "User.role", "since": "since", "plan": "plan", "flag": "User.email_verified"}
		})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		id := sessionOf(t, w, b).UserID
		if got, want := userOf(t, b), `"flag":null,"plan":null,"role":null,"since":null`; got != want {
			t.Errorf("at first: %s, want %s", got, want)
		}
		setExtra(t, store, id, "admin <1>")
		role := func() any { return b.Session()["user"].(map[string]any)["role"] }
		if got, want := role(), map[authsvc.Strategy]any{"database": "admin <1>", "jwt": nil}[strategy]; got != want {
			t.Errorf("when it was set: %v, want %v", got, want)
		}
		b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":{"role":"forged"}}`)
		if got, want := userOf(t, b), `"flag":1,"plan":null,"role":"admin \u003c1\u003e","since":"2030-01-01T00:00:00Z"`; got != want {
			t.Errorf("after update(): %s, want %s", got, want)
		}
		s := sessionOf(t, w, b)
		since := map[authsvc.Strategy]any{"database": time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), "jwt": "2030-01-01T00:00:00Z"}[strategy]
		if diff := cmp.Diff(map[string]any{"role": "admin <1>", "plan": nil, "since": since, "email_verified": int64(1)}, s.Extra()); diff != "" {
			t.Errorf("extra (-want +got):\n%s", diff)
		}
		got, err := authsvc.Decode[struct {
			Role, Plan string
			Since      time.Time
			Verified   bool `json:"email_verified"`
		}](s)
		if err != nil || got.Role != "admin <1>" || !got.Since.Equal(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) || !got.Verified {
			t.Errorf("decoded %+v, %v", got, err)
		}
	})
}

// TestUserColumnsOfAReissuedToken: a reissued token has the current columns. While the
// store does not answer, the session keeps the old ones, but update() fails.
func TestUserColumnsOfAReissuedToken(t *testing.T) {
	t.Parallel()
	store := withColumns(t)
	broken := &brokenUsers{Store: store}
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy, c.Session.UpdateAge = broken, "jwt", -1
		c.Session.Expose = map[string]string{"role": "role"}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	id := sessionOf(t, w, b).UserID
	setExtra(t, store, id, "one")
	b.Session() // reads them into the next token
	for _, c := range []struct {
		role string
		down bool
		want string
	}{{"one", false, "one"}, {"two", true, "one"}, {"two", false, "two"}} {
		setExtra(t, store, id, c.role)
		broken.down.Store(c.down)
		if got := userOf(t, b); got != `"role":"`+c.want+`"` {
			t.Errorf("%+v: %s", c, got)
		}
	}
	token := b.CSRF()
	broken.down.Store(true)
	if a := b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+token+`"}`); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("update() without a store: %s", a.Status)
	}
	broken.down.Store(false)
	if got := userOf(t, b); got != `"role":"two"` {
		t.Errorf("afterwards: %s", got)
	}
}

// brokenUsers is a store that sometimes finds no users.
type brokenUsers struct {
	*memory.Store
	down atomic.Bool
}

func (s *brokenUsers) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	if s.down.Load() {
		return authsvc.User{}, errors.New("down")
	}
	return s.Store.GetUser(ctx, id)
}

// TestColumnsWithoutUser: a user who is not stored has no columns.
func TestColumnsWithoutUser(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy = withColumns(t), "jwt"
		c.Session.Expose = map[string]string{"role": "role"}
		c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{ID: "nobody", Name: "Nobody"}, nil
		}}}
	})
	b := w.Browser()
	b.Login("nobody")
	if got := userOf(t, b); got != `"role":null` {
		t.Errorf("%s", got)
	}
}

// TestExposeOfTwoMeanings: a name that is both a claim and a column must say which it
// means.
func TestExposeOfTwoMeanings(t *testing.T) {
	t.Parallel()
	c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: memory.New("role", "id"),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorizeAda}}}
	c.Session.Claims = map[string]string{"role": "role", "bad path": "x", "worse": "a[", "__a": "a"}
	c.Session.Expose = map[string]string{"role": "role", "a": "User.none", "b": "claims.none", "id": "User.id", "c": "claims.role", "d": "User.role"}
	var got []string
	for _, e := range authsvc.ConfigErrors(engine.Check(c)) {
		got = append(got, e.Field+" "+e.Problem+"; "+e.Fix)
	}
	want := []string{"Session.Claims.__a is not a usable name", "Session.Claims.bad path is not a usable name", "Session.Claims.worse ",
		`Session.Expose.a names the column "none", which is not read`,
		`Session.Expose.b names the claim "none", which the session does not keep`,
		`Session.Expose.role could be the claim or the column "role"; write claims.role or User.role`}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	delete(c.Session.Expose, "a")
	delete(c.Session.Expose, "b")
	delete(c.Session.Expose, "role")
	c.Session.Claims = map[string]string{"role": "role"}
	if err := engine.Check(c); err != nil {
		t.Error(err)
	}
}
