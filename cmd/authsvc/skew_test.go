//go:build full

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/postgres"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/skewed"
)

// Indexes of the replicas of TestSkewedClocks.
const (
	fast = iota // its clock is 30 s ahead of the database's; it starts first, and sweeps
	right
	slow // 30 s behind
)

var skews = [...]time.Duration{fast: 30 * time.Second, right: 0, slow: -30 * time.Second}

// Times of TestSkewedClocks.
const (
	skewMaxAge      = 45 * time.Second    // of sessions
	firstSweep      = 60 * time.Second    // from a start to its first sweep
	skewLimit       = 60                  // sign-ins a minute
	revocationDelay = 5 * time.Second     // how long JWT sessions may remain valid at other replicas
	expiryTolerance = 3 * time.Second / 2 // of expiries: tokens have whole seconds, and differences of 250 ms are not corrected
)

// TestSkewedClocks: three replicas share one PostgreSQL. Their clocks are half a minute
// ahead of it, right, and half a minute behind. Users do not notice.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	binary, err := skewed.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			f := newSkewedReplicas(t, binary, strategy)
			stop := f.watchReadiness()
			f.checkWarnings()
			f.checkSharedSessions()
			for _, at := range [][2]int{{fast, slow}, {slow, fast}} {
				f.checkRevocation(at[0], at[1])
				f.checkFirstProof(at[0], at[1])
			}
			f.checkLinks()
			f.checkExpiry()
			stop()
			for _, l := range f.replicas {
				l.terminate()
			}
		})
	}
}

// A skewedReplicas holds three replicas and their environment.
type skewedReplicas struct {
	*testing.T
	origin, strategy string
	op               *idp.Server
	box              *mailbox.Server
	replicas         []*process
	startedAt        time.Time // just before the first replica started
	store            *postgres.Store
	embedded         *engine.Service // one more replica, in this process
	people           int
}

func newSkewedReplicas(t *testing.T, binary, strategy string) *skewedReplicas {
	t.Helper()
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	f := &skewedReplicas{T: t, strategy: strategy, op: startProvider(t), box: box, startedAt: time.Now()}
	storage, dir := servertest.Postgres(t), t.TempDir()
	f.origin = "http://" + freeAddress(t) // no listener: all replicas are behind it
	config := strings.NewReplacer(
		"rate_limit: {enabled: false}", fmt.Sprintf("rate_limit: {sign_in: %d/min}", skewLimit),
		"providers:\n", "providers:\n  - {id: email, type: email, max_age: 1m, server: \"smtp://"+box.Addr()+"\", from: \"App <app@example.com>\"}\n",
	).Replace(testConfig(f.origin, f.op, fmt.Sprintf("session: {strategy: %s, max_age: %v, update_age: %[2]v}", strategy, skewMaxAge)))
	for _, skew := range skews {
		l := newProcess(t, dir, freeAddress(t), config, "AUTHSVC_STORAGE_URL="+storage, skewed.Env(skew))
		l.cmd.Path = binary
		l.start()
		f.replicas = append(f.replicas, l)
	}
	f.startEmbedded(storage)
	return f
}

// startEmbedded runs the replica in this process.
func (f *skewedReplicas) startEmbedded(storage string) {
	f.Helper()
	var err error
	if f.store, err = postgres.Open(f.Context(), storage, postgres.Options{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.store.Close() })
	f.embedded, err = engine.New(authsvc.Config{URL: f.origin, Secrets: []string{testSecret}, Adapter: f.store, Logger: slog.New(slog.DiscardHandler),
		Session:   authsvc.SessionOptions{Strategy: authsvc.Strategy(f.strategy), MaxAge: skewMaxAge, UpdateAge: skewMaxAge},
		Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", Name: "Op", OpenID: true, Issuer: f.op.Issuer(), Client: authsvc.Client{ID: "app", Secret: "test-client-secret"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.embedded.Close(context.WithoutCancel(f.Context())) })
}

// watchReadiness checks until stop that all replicas are ready. That takes longer than
// the interval between two measurements of the clocks.
func (f *skewedReplicas) watchReadiness() (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for i, l := range f.replicas {
				if code, text := getStatus(f.T, "http://"+l.addr+"/readyz"); code != http.StatusOK {
					f.Errorf("the replica at %v is no longer ready: %d %s", skews[i], code, text)
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-done }
	f.Cleanup(stop)
	return stop
}

// replicaTransport sends requests for the origin to one replica.
type replicaTransport struct{ addr string }

// RoundTrip implements [http.RoundTripper].
func (to *replicaTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Host, out.URL.Host = r.URL.Host, to.addr
	return keepAliveTransport.RoundTrip(out)
}

// A skewGuest is a browser that one replica serves; at selects another.
type skewGuest struct {
	*browser.Browser
	*skewedReplicas
	to *replicaTransport
}

func (f *skewedReplicas) newGuest(at int) *skewGuest {
	to := &replicaTransport{f.replicas[at].addr}
	return &skewGuest{browser.New(f.origin, to), f, to}
}

func (g *skewGuest) at(i int) *skewGuest {
	g.to.addr = g.replicas[i].addr
	return g
}

// addPerson adds a person to the provider.
func (f *skewedReplicas) addPerson(verified bool) idp.Person {
	f.Helper()
	f.people++
	name := fmt.Sprintf("person%d", f.people)
	p, err := f.op.AddPerson(idp.Person{Sub: name, Name: name, Email: name + "@people.test", EmailVerified: verified})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// signIn signs a person in with a new browser.
func (f *skewedReplicas) signIn(at int, p idp.Person) *skewGuest {
	f.Helper()
	g := f.newGuest(at)
	if err := g.SignIn(f.op, p.Sub); err != nil {
		f.Fatalf("sign-in at %v: %v", skews[at], err)
	}
	return g
}

// link requests a sign-in link, and returns it from the mail.
func (g *skewGuest) link(address string) string {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), 15*time.Second)
	defer cancel()
	link, err := g.AskForLink(ctx, g.box, address)
	if err != nil {
		g.Fatal(err)
	}
	return link
}

// cookies returns the current cookies of a browser. Sent unchanged, they show whether
// replicas accept them, regardless of when the browser drops them.
func (g *skewGuest) cookies() []*http.Cookie {
	u, err := url.Parse(g.origin + "/api/auth")
	if err != nil {
		g.Fatal(err)
	}
	return g.Client.Jar.Cookies(u)
}

// signedInAs returns the address of the user that cookies sign in at a replica, or ""
// if they sign no one in.
func (f *skewedReplicas) signedInAs(at int, cookies []*http.Cookie) string {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.origin+"/api/auth/session", nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	res, err := (&replicaTransport{f.replicas[at].addr}).RoundTrip(r)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	var s struct{ User struct{ Email string } }
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil || res.StatusCode != http.StatusOK {
		f.Fatalf("session at %v: %d %v", skews[at], res.StatusCode, err)
	}
	return s.User.Email
}

// mustBeSignedIn checks that a browser is signed in at every replica.
func (g *skewGuest) mustBeSignedIn(address, what string) {
	g.Helper()
	for i := range g.replicas {
		if got := g.signedInAs(i, g.cookies()); got != address {
			g.Errorf("%s: at %v it is %q, not %s", what, skews[i], got, address)
		}
	}
}

// mustBeSignedOut checks that a browser is signed in nowhere, at once or as soon as all
// replicas have read the revocation.
func (g *skewGuest) mustBeSignedOut(what string) {
	g.Helper()
	deadline := time.Now()
	if g.strategy == "jwt" {
		deadline = deadline.Add(revocationDelay)
	}
	for i := range g.replicas {
		for ; g.signedInAs(i, g.cookies()) != ""; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				g.Errorf("%s: signed in at %v", what, skews[i])
				break
			}
		}
	}
}
