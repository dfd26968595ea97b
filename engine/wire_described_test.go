package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/exchange"
)

// wireModes maps the values of compat to replacers. A replacer changes a transcript's
// cookie names, and the separator of a CSRF token and its hash, to those of the mode.
var wireModes = map[string]*strings.Replacer{
	"none": strings.NewReplacer("next-auth.session-token", "authsvc.session", "next-auth.csrf-token", "authsvc.csrf", "next-auth.callback-url", "authsvc.callback-url",
		"authjs.session-token", "authsvc.session", "authjs.csrf-token", "authsvc.csrf", "authjs.callback-url", "authsvc.callback-url", "}%7C{", "}.{"),
	"next-auth-v4": strings.NewReplacer("authsvc.session=", "next-auth.session-token=", "authsvc.csrf=", "next-auth.csrf-token=", "authsvc.callback-url=", "next-auth.callback-url=",
		"authjs.", "next-auth.", "}.{", "}%7C{"),
	"authjs-v5": strings.NewReplacer("authsvc.session=", "authjs.session-token=", "authsvc.csrf=", "authjs.csrf-token=", "authsvc.callback-url=", "authjs.callback-url=",
		"next-auth.", "authjs.", "}.{", "}%7C{"),
}

// TestWireInEveryMode records transcripts in the modes that they are not written for.
// Only docs/openapi.yaml judges the answers (make openapi).
func TestWireInEveryMode(t *testing.T) {
	t.Parallel()
	if !exchange.On() {
		return
	}
	written := regexp.MustCompile(`(?m)^compat: (.*)\n`)
	for name, parts := range wireTranscripts(t) {
		own := "none"
		if m := written.FindStringSubmatch(parts["authsvc.yaml"]); m != nil {
			own = m[1]
		}
		for mode, names := range wireModes {
			if mode == own {
				continue
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				config := written.ReplaceAllString(parts["authsvc.yaml"], "") + "\ncompat: " + mode + "\n"
				playEmbedded(t, config, names.Replace(parts["transcript"]), true)
			})
		}
	}
}

// A rare describes a request whose answer is in no transcript. For example, the store
// fails, the service has a bug, or the request is large.
type rare struct {
	tune   func(*authsvc.Config)
	ask    func(w *rareWorld, b *arena.Browser) *browser.Answer
	status int
	media  string
}

// A rareWorld has a store that can fail or panic.
type rareWorld struct {
	*arena.World
	store *adaptertest.Fault
	bug   *buggyStore
}

// A buggyStore panics in GetSession if panics is set.
type buggyStore struct {
	adapter.Adapter
	panics bool
}

func (s *buggyStore) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error) {
	if s.panics {
		panic("a bug")
	}
	return s.Adapter.GetSession(ctx, token, digest)
}

func rareAnswers() map[string]rare {
	const form, text, object, problem = "application/x-www-form-urlencoded", "text/plain", "application/json", "application/problem+json"
	large := "x=" + strings.Repeat("x", 70<<10)
	issues := func(c *authsvc.Config) { c.Tokens.Audiences = []authsvc.Audience{{ID: "https://api.test"}} }
	posts := func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).ResponseMode = "form_post" }
	post := func(path, body string, header ...string) func(*rareWorld, *arena.Browser) *browser.Answer {
		return func(_ *rareWorld, b *arena.Browser) *browser.Answer {
			return b.Raw("/api/auth/"+path, form, body, header...)
		}
	}
	// signedIn signs Ada in, calls wrong, and then asks.
	signedIn := func(wrong func(*rareWorld), ask func(b *arena.Browser, token string) *browser.Answer) func(*rareWorld, *arena.Browser) *browser.Answer {
		return func(w *rareWorld, b *arena.Browser) *browser.Answer {
			b.SignInByMail(w.World, "ada@app.test")
			token := b.CSRF()
			wrong(w)
			return ask(b, token)
		}
	}
	away := func(w *rareWorld) { w.store.FailAll() }
	bug := func(w *rareWorld) { w.bug.panics = true }
	get := func(path string) func(*arena.Browser, string) *browser.Answer {
		return func(b *arena.Browser, _ string) *browser.Answer { return b.Get("/api/auth/" + path) }
	}
	send := func(path string, header ...string) func(*arena.Browser, string) *browser.Answer {
		return func(b *arena.Browser, token string) *browser.Answer {
			return b.Raw("/api/auth/"+path, form, "csrfToken="+token, header...)
		}
	}
	gated := func(c *authsvc.Config) {
		c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}}}}}
	}
	visiting := func(query string, header ...string) func(*arena.Browser, string) *browser.Answer {
		return func(b *arena.Browser, _ string) *browser.Answer {
			for i := 0; i < len(header); i += 2 {
				b.Header.Set(header[i], header[i+1])
			}
			return b.Get("/api/auth/gate/start?" + query)
		}
	}
	visit := func(query string, header ...string) func(*rareWorld, *arena.Browser) *browser.Answer {
		return func(_ *rareWorld, b *arena.Browser) *browser.Answer { return visiting(query, header...)(b, "") }
	}
	behindProxy := func(c *authsvc.Config) {
		gated(c)
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	}
	asking := func(target string, header ...string) func(*arena.Browser, string) *browser.Answer {
		return func(b *arena.Browser, _ string) *browser.Answer {
			b.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"app.test"}, "X-Forwarded-Uri": {target}}
			for i := 0; i < len(header); i += 2 {
				b.Header.Set(header[i], header[i+1])
			}
			for _, way := range []string{"forward-auth", "auth-request", "ext-authz" + target} {
				b.Get("/api/auth/gate/" + way)
			}
			return b.Get("/api/auth/gate/denied")
		}
	}
	asked := func(target string, header ...string) func(*rareWorld, *arena.Browser) *browser.Answer {
		return func(_ *rareWorld, b *arena.Browser) *browser.Answer { return asking(target, header...)(b, "") }
	}
	script := []string{"X-Auth-Return-Redirect", "1"}
	return map[string]rare{
		"large form":    {nil, post("signout", large), 413, text},
		"large":         {nil, post("signout", large, script...), 413, object},
		"large ask":     {issues, post("token", large), 413, problem},
		"bug":           {nil, signedIn(bug, get("session")), 500, text},
		"bug of script": {nil, signedIn(bug, send("session", script...)), 500, object},
		"bug of token":  {issues, signedIn(bug, send("token")), 500, problem},
		"away":          {nil, signedIn(away, get("session")), 503, object},
		"away at token": {issues, signedIn(away, send("token")), 503, problem},
		"away at end":   {nil, signedIn(away, send("signout", script...)), 503, object},
		"away at mail": {nil, func(w *rareWorld, b *arena.Browser) *browser.Answer {
			token := b.CSRF()
			w.store.FailAll("PutToken")
			return b.Raw("/api/auth/signin/email", form, "callbackUrl=/in&email=ada@app.test&csrfToken="+token, script...)
		}, 503, object},
		"extended": {func(c *authsvc.Config) { issues(c); c.Session.Strategy, c.Session.UpdateAge = authsvc.StrategyJWT, -1 }, signedIn(func(*rareWorld) {}, send("token")), 200, object},
		"no session": {issues, func(w *rareWorld, b *arena.Browser) *browser.Answer {
			b.Cookies[w.SessionCookie()] = "garbage"
			return b.Raw("/api/auth/token", form, "csrfToken="+b.CSRF())
		}, 401, problem},
		"too many words": {func(c *authsvc.Config) { c.RateLimit.BackchannelLogout = authsvc.Rate{N: 1, Per: time.Hour} }, func(_ *rareWorld, b *arena.Browser) *browser.Answer {
			b.Raw("/api/auth/backchannel-logout/op", form, "logout_token=x")
			return b.Raw("/api/auth/backchannel-logout/op", form, "logout_token=x")
		}, 429, text},
		"posted by the provider": {posts, post("callback/op", "code=x&state=x"), 200, "text/html"},
		"posted again":           {posts, post("callback/op", "code=x&state=x&repost=1", script...), 200, object},
		"unlinked": {nil, func(w *rareWorld, b *arena.Browser) *browser.Answer {
			b.SignIn(w.OP, "ada")
			return b.Raw("/api/auth/account/unlink", form, "csrfToken="+b.CSRF()+"&fresh=x&callbackUrl=/in&id="+accountID(b), script...)
		}, 200, object},
		"last way": {func(c *authsvc.Config) { c.Providers = c.Providers[:1] }, func(w *rareWorld, b *arena.Browser) *browser.Answer {
			b.SignIn(w.OP, "ada")
			return b.Raw("/api/auth/account/unlink", form, "csrfToken="+b.CSRF()+"&id="+accountID(b), script...)
		}, 409, object},
		"account away":            {nil, signedIn(away, get("account")), 503, "text/html"},
		"account away, script":    {nil, signedIn(away, send("account/profile", script...)), 503, object},
		"account of another site": {nil, post("account/profile", "name=Eve", "Origin", "https://evil.example"), 403, "text/html"},
		"account unread":          {nil, post("account/profile", "name=Eve&name=Eve"), 400, text},
		"confirm without session": {nil, func(_ *rareWorld, b *arena.Browser) *browser.Answer { return send("confirm", script...)(b, b.CSRF()) }, 401, object},
		"account done":            {nil, signedIn(func(*rareWorld) {}, get("account?done=renamed&request=0123456789ab")), 200, "text/html"},
		"confirm refused":         {nil, signedIn(func(*rareWorld) {}, get("confirm?error=OAuthCallback&request=0123456789ab")), 200, "text/html"},
		"new name, no token":      {nil, post("account/profile", "name=Eve", script...), 403, object},
		"too many names": {func(c *authsvc.Config) { c.RateLimit.Account = authsvc.Rate{N: 1, Per: time.Hour} }, signedIn(func(*rareWorld) {}, func(b *arena.Browser, token string) *browser.Answer {
			send("account/profile")(b, token)
			return send("account/profile", script...)(b, token)
		}), 429, object},
		"export, old proof": {nil, func(w *rareWorld, b *arena.Browser) *browser.Answer {
			b.SignIn(w.OP, "ada")
			makeOld(w.T, w.World, readAccount(w.T.(*testing.T), b).User.ID)
			b.Header.Set("Accept", "application/json")
			return b.Get("/api/auth/account/export")
		}, 401, object},
		"deletion refused": {deletable, signedIn(func(*rareWorld) {}, func(b *arena.Browser, token string) *browser.Answer {
			b.Get("/api/auth/account/delete?error=Invalid&request=0123456789ab")
			b.Get("/api/auth/account/keep?error=csrf&request=0123456789ab")
			return b.Raw("/api/auth/account/delete", form, "confirm=x&fresh=x&callbackUrl=/in&csrfToken="+token, script...)
		}), 400, object},
		"address asked for":    {changesEmail, askAddress, 200, object},
		"address stopped":      {changesEmail, stopAddress, 200, object},
		"address proved":       {changesEmail, proveAddress, 200, object},
		"link taken back":      {nil, takeBack, 200, object},
		"gate entered late":    {elsewhere, enterLate, 400, "text/html"},
		"gate entry too large": {largeElsewhere, enterLarge, 500, "text/html"},
		"export away":          {nil, signedIn(away, get("account/export")), 503, "text/html"},
		"too many exports": {nil, signedIn(func(*rareWorld) {}, func(b *arena.Browser, token string) *browser.Answer {
			for range 5 {
				get("account/export")(b, token)
			}
			b.Header.Set("Accept", "application/json")
			return get("account/export")(b, token)
		}), 429, object},
		"renamed": {func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT }, signedIn(func(*rareWorld) {}, func(b *arena.Browser, token string) *browser.Answer {
			return b.Raw("/api/auth/account/profile", form, "name=Ada&csrfToken="+token, script...)
		}), 200, object},
		"gate closed, person": {gated, visit("to=/closed/x", "Accept", "text/html"), 403, "text/html"},
		"check extended": {func(c *authsvc.Config) {
			gated(c)
			c.Session.Strategy, c.Session.UpdateAge = authsvc.StrategyJWT, -1
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}, signedIn(func(*rareWorld) {}, func(b *arena.Browser, _ string) *browser.Answer {
			b.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"app.test"}, "X-Forwarded-Uri": {"/x"}}
			b.Get("/api/auth/gate/auth-request")
			b.Get("/api/auth/gate/ext-authz/x")
			return b.Get("/api/auth/gate/forward-auth")
		}), 200, ""},
		"denied in a frame": {behindProxy, asked("/x", "Sec-Fetch-Dest", "iframe"), 401, "text/html"},
		"denied, person":    {behindProxy, asked("/closed", "Accept", "text/html"), 403, "text/html"},
		"denied, away":      {behindProxy, signedIn(away, asking("/x", "Accept", "text/html")), 503, "text/html"},
		"check not set up":  {behindProxy, asked("", "Accept", "text/html"), 400, "text/html"},
		"gate closed":       {gated, visit("to=/closed/x"), 403, problem},
		"gate in a frame":   {gated, visit("to=/x", "Sec-Fetch-Dest", "iframe"), 401, "text/html"},
		"gate away, person": {gated, signedIn(away, visiting("to=/x", "Accept", "text/html")), 503, "text/html"},
		"gate away":         {gated, signedIn(away, visiting("to=/x")), 503, problem},
		"gate without cookies": {gated, signedIn(func(*rareWorld) {}, func(b *arena.Browser, token string) *browser.Answer {
			visiting("to=/x", "Accept", "text/html")(b, token)
			return visiting("to=/x", "Accept", "text/html")(b, token)
		}), 502, "text/html"},
		"wrong password": {nil, func(_ *rareWorld, b *arena.Browser) *browser.Answer {
			return b.Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong", "json", "true")
		}, 401, object},
		"right password": {func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT }, func(_ *rareWorld, b *arena.Browser) *browser.Answer { return b.Login("ada", "json", "true") }, 200, object},
		"wrong way in": {nil, func(_ *rareWorld, b *arena.Browser) *browser.Answer {
			return b.Get("/api/auth/callback/credentials")
		}, 405, text},
		"inside": {func(c *authsvc.Config) { c.InternalHosts = []string{"app.internal"} }, func(_ *rareWorld, b *arena.Browser) *browser.Answer {
			b.Origin = "http://app.internal"
			return b.Get("/api/auth/csrf")
		}, 421, text},
	}
}

// asScript posts a form as a script of a page does.
func asScript(b *arena.Browser, path string, fields ...string) *browser.Answer {
	form := url.Values{"csrfToken": {b.CSRF()}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.Raw("/api/auth/"+path, "application/x-www-form-urlencoded", form.Encode(), "X-Auth-Return-Redirect", "1")
}

// askAddress requests a change of the email address and visits the related pages.
func askAddress(w *rareWorld, b *arena.Browser) *browser.Answer {
	b.SignInByMail(w.World, oldAddress)
	b.Get("/api/auth/account/email?error=Invalid&request=0123456789ab")
	b.Get(emailConfirmPath) // no change is pending
	b.Header.Set("Accept", "application/json")
	b.Get(emailConfirmPath + "?id=nobodys&token=nobodys")
	b.Header.Del("Accept")
	a := asScript(b, "account/email", "email", newAddress, "callbackUrl", "/in", "fresh", "x")
	b.Get(emailConfirmPath + "?error=Code&request=0123456789ab")
	return a
}

// stopAddress stops a change with the link in the mail, and cancels the next one as the
// signed-in user.
func stopAddress(w *rareWorld, b *arena.Browser) *browser.Answer {
	askAddress(w, b)
	link := mailsTo(w.T, w.World, 2)[oldAddress].links[1]
	b.Get(link)
	asScript(b, "account/email/confirm", append(linkFields(w.T, link), "stop", "true")...)
	asScript(b, "account/email", "email", newAddress)
	return asScript(b, "account/email/cancel")
}

func proveAddress(w *rareWorld, b *arena.Browser) *browser.Answer {
	askAddress(w, b)
	return asScript(b, "account/email/confirm", linkFields(w.T, mailsTo(w.T, w.World, 2)[newAddress].links[0])...)
}

// takeBack unlinks a linked identity with the link in the notice.
func takeBack(w *rareWorld, b *arena.Browser) *browser.Answer {
	b.SignInByMail(w.World, "ada@app.test")
	b.SignIn(w.OP, "grace", "link", "true")
	link := arena.MustURL(w.T, arena.Undo(w.Mail.Notice(w.T)))
	b.Get(link.RequestURI() + "&request=0123456789ab")
	return asScript(b, "account/undo", "token", link.Query().Get("token"))
}

// elsewhere configures a host of the gate that does not receive the session cookie.
func elsewhere(c *authsvc.Config) { c.Gate.Hosts = []authsvc.GateHost{{Origin: wiki}} }

// largeElsewhere configures claims that are too large for the cookie at the gate's host.
func largeElsewhere(c *authsvc.Config) {
	c.Gate.Hosts = []authsvc.GateHost{{Origin: wiki, Rules: []authsvc.GateRule{{Match: "/x", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Groups: []string{"ops"}}}}}}}}
	c.Session.Strategy = authsvc.StrategyJWT
	c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
		return authsvc.Claims{"groups": []string{strings.Repeat("g", 3500)}}, nil
	}
}

// toAuthorize signs Ada in and visits the host of the gate. It returns the address at
// the login host to which that host redirects.
func toAuthorize(w *rareWorld, b *arena.Browser) (authorize string) {
	b.SignInByMail(w.World, "ada@app.test")
	b.Header = http.Header{"Accept": {"text/html"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	b.Origin = wiki
	b.Get("/api/auth/gate/leave?to=/x")
	authorize = b.Get("/api/auth/gate/start?to=/x&signin=true").Location()
	b.Origin = arena.Origin
	return authorize
}

func enterLarge(w *rareWorld, b *arena.Browser) *browser.Answer { return b.Get(toAuthorize(w, b)) }

// enterLate enters the host of the gate after a sign-out.
func enterLate(w *rareWorld, b *arena.Browser) *browser.Answer {
	to := toAuthorize(w, b)
	b.Get(to + "&again=true")
	enter := b.Get(to).Location()
	b.Get("/api/auth/gate/enter") // this host does not have the route
	b.Post("/api/auth/signout")
	b.Origin = wiki
	return b.Get(enter)
}

// TestRareAnswersLater records how a user finishes a change of the email address after
// a week without an answer from the old address.
func TestRareAnswersLater(t *testing.T) {
	t.Parallel()
	if !exchange.On() {
		return
	}
	for mode := range wireModes {
		for _, script := range []bool{true, false} {
			t.Run(fmt.Sprint(mode, script), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := arena.EnterOffline(t, func(c *authsvc.Config) { changesEmail(c); c.Compat = authsvc.Compat(mode) })
					b := w.Browser()
					b.H = exchange.New(t, mode).Handler(w)
					b.Login("ada")
					askEmail(b, newAddress)
					confirmEmail(t, b, mailsTo(t, w, 2)[newAddress].links[0])
					time.Sleep(8 * 24 * time.Hour)
					b.Login("ada")
					if script {
						asScript(b, "account/email/finish")
					} else {
						b.Post("/api/auth/account/email/finish")
					}
					if err := w.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// accountID returns the ID of the first account of a browser's user.
func accountID(b *arena.Browser) string {
	var v struct{ Accounts []struct{ ID string } }
	b.Header["Accept"] = []string{"application/json"}
	defer delete(b.Header, "Accept")
	if err := json.Unmarshal([]byte(b.Get("/api/auth/account").Text), &v); err != nil || len(v.Accounts) == 0 {
		b.T.Fatalf("no accounts: %v", err)
	}
	return v.Accounts[0].ID
}

// TestRareAnswers checks that rare answers are the same in every mode, and records them
// for the check against docs/openapi.yaml.
func TestRareAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range rareAnswers() {
		for mode := range wireModes {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				w := &rareWorld{}
				w.World = arena.Start(t, func(config *authsvc.Config) {
					config.Compat, config.Session.Strategy = authsvc.Compat(mode), authsvc.StrategyDatabase
					if c.tune != nil {
						c.tune(config)
					}
					w.store = adaptertest.Faulty(config.Adapter)
					w.bug = &buggyStore{Adapter: w.store}
					config.Adapter = w.bug
				})
				b := w.Browser()
				b.H = exchange.New(t, mode).Handler(w)
				a := c.ask(w, b)
				status, want := c.status, c.media
				if status == http.StatusMethodNotAllowed && mode != "none" { // compat modes answer 400
					status, want = http.StatusBadRequest, ""
				}
				if media := a.Header.Get("Content-Type"); a.StatusCode != status || !strings.HasPrefix(media, want) {
					t.Errorf("%d %s, want %d %s\n%.300s", a.StatusCode, media, status, want, a.Text)
				}
			})
		}
	}
}
