package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/postgres"
	"authsvc/internal/idp"
	"authsvc/internal/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/servertest"
)

// Where the replicas of TestSkewedClocks are in their list.
const (
	fast = iota // its clock is 30 s ahead of the database's; it is first, and sweeps
	right
	slow // 30 s behind
)

var skews = [...]time.Duration{fast: 30 * time.Second, right: 0, slow: -30 * time.Second}

// Times of TestSkewedClocks.
const (
	skewMaxAge      = 45 * time.Second    // of sessions
	firstSweep      = 60 * time.Second    // from a start to its first sweep
	skewLimit       = 60                  // sign-ins a minute
	revocationDelay = 5 * time.Second     // how long JWT sessions may live on at other replicas
	expiryTolerance = 3 * time.Second / 2 // of ends: tokens have whole seconds, and differences of 250 ms are not corrected
)

// TestSkewedClocks: three replicas on one PostgreSQL, whose machines' clocks
// are half a minute ahead of it, right, and half a minute behind: nobody
// notices.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	binary := buildSkewedBinary(t)
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

// buildSkewedBinary builds this program with a time.Now that is off by the
// duration in the variable SKEW. Linux gives no process a wall clock of its own:
// time namespaces do not cover it, and Go does not call libc for it.
func buildSkewedBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "go") // go replaces no file below GOMODCACHE, where toolchains are
	if err := os.Symlink(strings.TrimSpace(string(out)), root); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "src", "time", "time.go")
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n"
	if bytes.Count(source, []byte(now)) != 1 {
		t.Fatal("time.Now of this Go is written in another way")
	}
	files := map[string]string{
		name: strings.Replace(string(source), now, "\tsec, nsec, mono := runtimeNow()\n\tsec += skew\n\tif mono == 0 {\n", 1),
		filepath.Join(root, "src", "time", "skew.go"): `package time

import "syscall"

var skew = func() int64 {
	v, _ := syscall.Getenv("SKEW")
	d, _ := ParseDuration(v)
	return int64(d / Second)
}()
`}
	replace := map[string]string{}
	for place, text := range files {
		replace[place] = filepath.Join(dir, filepath.Base(place))
		if err := os.WriteFile(replace[place], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "authsvc")
	build := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "go"), "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	build.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local")
	begun := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Logf("built in %v", time.Since(begun).Round(time.Second))
	return binary
}

// A skewedReplicas is three replicas and what is around them.
type skewedReplicas struct {
	*testing.T
	origin, strategy string
	op               *idp.Server
	box              *mailbox.Server
	replicas         []*process
	startedAt        time.Time // when the first was about to start
	store            *postgres.Store
	embedded         *authsvc.Service // one more replica, in this process
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
	f.origin = "http://" + freeAddress(t) // where nobody listens: all replicas are behind it
	config := strings.NewReplacer(
		"rate_limit: {enabled: false}", fmt.Sprintf("rate_limit: {sign_in: %d/min}", skewLimit),
		"providers:\n", "providers:\n  - {id: email, type: email, max_age: 1m, server: \"smtp://"+box.Addr()+"\", from: \"App <app@example.com>\"}\n",
	).Replace(testConfig(f.origin, f.op, fmt.Sprintf("session: {strategy: %s, max_age: %v, update_age: %[2]v}", strategy, skewMaxAge)))
	for _, skew := range skews {
		l := newProcess(t, dir, freeAddress(t), config, "AUTHSVC_STORAGE_URL="+storage, "SKEW="+skew.String())
		l.cmd.Path = binary
		l.start()
		f.replicas = append(f.replicas, l)
	}
	f.startEmbedded(storage)
	return f
}

// startEmbedded runs the replica of this process.
func (f *skewedReplicas) startEmbedded(storage string) {
	f.Helper()
	var err error
	if f.store, err = postgres.Open(f.Context(), storage, postgres.Options{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.store.Close() })
	f.embedded, err = authsvc.New(authsvc.Config{URL: f.origin, Secrets: []string{testSecret}, Adapter: f.store, Logger: slog.New(slog.DiscardHandler),
		Session:   authsvc.SessionOptions{Strategy: f.strategy, MaxAge: skewMaxAge, UpdateAge: skewMaxAge},
		Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", Name: "Op", OpenID: true, Issuer: f.op.Issuer(), Client: authsvc.Client{ID: "app", Secret: "life-client-secret"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.embedded.Close(context.WithoutCancel(f.Context())) })
}

// watchReadiness checks until it is stopped that all replicas are ready, which is
// longer than the time between two measurements of the clocks.
func (f *skewedReplicas) watchReadiness() (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for i, l := range f.replicas {
				if code, text := getStatus(f.T, "http://"+l.addr+"/readyz"); code != http.StatusOK {
					f.Errorf("the replica at %v is not ready any more: %d %s", skews[i], code, text)
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

// checkWarnings: a replica whose clock is off logs it, and by how much.
func (f *skewedReplicas) checkWarnings() {
	f.Helper()
	warning := regexp.MustCompile(`level=WARN msg="the clock of this machine[^\n]* store_ahead=(\S+)`)
	for i, l := range f.replicas {
		m := warning.FindStringSubmatch(l.out.String())
		if skews[i] == 0 {
			if m != nil {
				f.Errorf("a clock that is right: %s", m[0])
			}
			continue
		}
		if m == nil {
			f.Errorf("not a word about a clock at %v\n%s", skews[i], l.out)
			continue
		}
		if ahead, err := time.ParseDuration(m[1]); err != nil || (ahead+skews[i]).Abs() > time.Second {
			f.Errorf("a clock at %v: store_ahead=%s, %v", skews[i], m[1], err)
		}
	}
}

// replicaTransport sends requests for the origin to one replica.
type replicaTransport struct{ addr string }

// RoundTrip implements [http.RoundTripper].
func (to *replicaTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Host, out.URL.Host = r.URL.Host, to.addr
	return keepAliveTransport.RoundTrip(out)
}

// A skewGuest is a browser that one replica serves, until at chooses another.
type skewGuest struct {
	*arena.Visitor
	*skewedReplicas
	to *replicaTransport
}

func (f *skewedReplicas) newGuest(at int) *skewGuest {
	to := &replicaTransport{f.replicas[at].addr}
	return &skewGuest{arena.NewVisitor(f.origin, to), f, to}
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

// link requests a sign-in link and returns it from the mail.
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

// cookies returns the cookies that a browser has now. Sent as they are, they show
// whether replicas accept them, and not when the browser drops them.
func (g *skewGuest) cookies() []*http.Cookie {
	u, err := url.Parse(g.origin + "/api/auth")
	if err != nil {
		g.Fatal(err)
	}
	return g.Client.Jar.Cookies(u)
}

// signedInAs returns the address of who is signed in by cookies at a replica, ""
// for nobody.
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

// mustBeSignedIn: a browser is signed in at every replica.
func (g *skewGuest) mustBeSignedIn(address, what string) {
	g.Helper()
	for i := range g.replicas {
		if got := g.signedInAs(i, g.cookies()); got != address {
			g.Errorf("%s: at %v it is %q, not %s", what, skews[i], got, address)
		}
	}
}

// mustBeSignedOut: a browser is signed in nowhere, at once or as soon as all
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

// checkSharedSessions: a session is valid at every replica, wherever it began.
func (f *skewedReplicas) checkSharedSessions() {
	f.Helper()
	for i := range f.replicas {
		p := f.addPerson(true)
		f.signIn(i, p).mustBeSignedIn(p.Email, fmt.Sprintf("a session of %v", skews[i]))
	}
}

// checkRevocation: what ends sessions at one replica ends those that began at
// another, and none that begin afterwards.
func (f *skewedReplicas) checkRevocation(from, by int) {
	f.Helper()
	for name, end := range map[string]func(p idp.Person){
		"the provider's logout": func(p idp.Person) { f.backchannelLogout(by, p) },
		"EndSessions": func(p idp.Person) {
			u, err := f.store.GetUserByEmail(f.Context(), p.Email)
			if err == nil {
				err = f.embedded.EndSessions(f.Context(), u.ID)
			}
			if err != nil {
				f.Error(err)
			}
		},
	} {
		what := fmt.Sprintf("%s, of sessions of %v", name, skews[from])
		p := f.addPerson(true)
		before := f.signIn(from, p)
		before.mustBeSignedIn(p.Email, what)
		end(p)
		after := []*skewGuest{f.signIn(by, p), f.signIn(from, p)}
		before.mustBeSignedOut(what)
		for _, g := range after {
			g.mustBeSignedIn(p.Email, what+", afterwards")
		}
	}
}

// backchannelLogout sends a replica the provider's logout token.
func (f *skewedReplicas) backchannelLogout(at int, p idp.Person) {
	f.Helper()
	token, err := f.op.LogoutToken("app", p.Sub)
	if err != nil {
		f.Fatal(err)
	}
	a, err := f.newGuest(at).Post("/api/auth/backchannel-logout/op", "logout_token", token)
	if err != nil || a.StatusCode != http.StatusOK {
		f.Errorf("logout at %v: %+v, %v", skews[at], a, err)
	}
}

// checkFirstProof: a first proof at one replica ends the session of whoever
// registered the address at another, and their sign-in that is under way there.
func (f *skewedReplicas) checkFirstProof(from, by int) {
	f.Helper()
	what := fmt.Sprintf("a first proof at %v", skews[by])
	p := f.addPerson(false)
	squatter := f.signIn(from, p)
	squatter.mustBeSignedIn(p.Email, what)
	late := f.newGuest(from)
	a, err := late.Post("/api/auth/signin/op")
	if err != nil {
		f.Fatal(err)
	}
	back, err := f.op.Approve(a.Location(), p.Sub)
	if err != nil {
		f.Fatal(err)
	}
	owner := f.newGuest(by)
	if a, err := owner.Get(owner.link(p.Email)); err != nil || a.StatusCode != http.StatusOK { // a page says what was removed
		f.Errorf("%s: %v %v", what, a, err)
	}
	if a, err := late.Get(back.URL()); err != nil || !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") {
		f.Errorf("%s: a sign-in of before: %v %v", what, a, err)
	}
	late.mustBeSignedOut(what)
	squatter.mustBeSignedOut(what)
	owner.mustBeSignedIn(p.Email, what)
}

// checkLinks: a link that was requested at one replica is valid at every other.
func (f *skewedReplicas) checkLinks() {
	f.Helper()
	for i := range f.replicas {
		for j := range f.replicas {
			address := fmt.Sprintf("link%d%d@people.test", i, j)
			g := f.newGuest(i)
			link := g.link(address)
			if err := g.at(j).Open(link); err != nil {
				f.Errorf("a link of %v at %v: %v", skews[i], skews[j], err)
			}
			g.mustBeSignedIn(address, fmt.Sprintf("by a link of %v", skews[i]))
		}
	}
}

// checkExpiry: the sweep of the fast replica keeps what has not expired, and
// sessions expire at the same time everywhere. Meanwhile rate limits are checked.
func (f *skewedReplicas) checkExpiry() {
	f.Helper()
	time.Sleep(time.Until(f.startedAt.Add(firstSweep - skewMaxAge + 5*time.Second))) // by its own clock the fast one would find all expired at its sweep
	type old struct {
		*skewGuest
		cookies         []*http.Cookie
		address, link   string
		earliest, until time.Time // of the end of the session
	}
	var all []old
	for i := range f.replicas {
		p := f.addPerson(true)
		o := old{address: p.Email, earliest: time.Now().Add(skewMaxAge)}
		g := f.signIn(i, p)
		o.until, o.cookies = time.Now().Add(skewMaxAge), g.cookies()
		o.skewGuest = f.newGuest(i)
		o.link = o.skewGuest.link(fmt.Sprintf("old%d@people.test", i))
		all = append(all, o)
	}
	f.checkRateLimit(fast, slow)
	f.checkRateLimit(slow, fast)
	f.waitForSweep()
	for i, o := range all {
		if err := o.at((i + 1) % len(f.replicas)).Open(o.link); err != nil {
			f.Errorf("a link of %v after the sweep: %v", skews[i], err)
		}
	}
	for i, o := range all {
		for j := range f.replicas {
			for f.signedInAs(j, o.cookies) != "" && time.Now().Before(o.until.Add(expiryTolerance)) {
				time.Sleep(20 * time.Millisecond)
			}
			if now := time.Now(); now.Before(o.earliest.Add(-expiryTolerance)) || f.signedInAs(j, o.cookies) != "" {
				f.Errorf("a session of %v ends at %v %v late", skews[i], skews[j], now.Sub(o.until).Round(time.Millisecond))
			}
		}
	}
}

// waitForSweep waits until a record that expired long ago is gone.
func (f *skewedReplicas) waitForSweep() {
	f.Helper()
	expired := func() error { return f.store.UseOnce(f.Context(), "expired", time.Now().Add(-time.Hour)) }
	if err := expired(); err != nil {
		f.Fatal(err)
	}
	var err error
	for deadline := f.startedAt.Add(firstSweep + 15*time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err = expired(); err == nil {
			f.Logf("swept after %v", time.Since(f.startedAt).Round(time.Second))
			return
		}
		if !errors.Is(err, authsvc.ErrConflict) || time.Now().After(deadline) {
			f.Fatalf("nobody sweeps: %v", err)
		}
	}
}

// checkRateLimit: what was used up at one replica is used up at another, and
// nobody waits there for longer than until the next request is allowed.
func (f *skewedReplicas) checkRateLimit(from, at int) {
	f.Helper()
	const interval = time.Minute / skewLimit
	try := func(at int) (passed bool, wait time.Duration) {
		a, err := f.newGuest(at).Post("/api/auth/signin/op")
		if err != nil {
			f.Fatal(err)
		}
		if a.StatusCode != http.StatusTooManyRequests {
			return true, 0
		}
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if err != nil {
			f.Error(err)
		}
		return false, time.Duration(seconds) * time.Second
	}
	var begun time.Time
	for n := 0; ; n++ {
		begun = time.Now()
		if passed, _ := try(from); !passed {
			break
		}
		if n > 4*skewLimit {
			f.Fatal("there is no limit")
		}
	}
	passes, waits := 0, make([]time.Duration, 5)
	for i := range waits {
		passed := false
		if passed, waits[i] = try(at); passed {
			passes++
		}
		if waits[i] > interval+time.Second { // whole seconds
			f.Errorf("used up at %v, it is %v at %v", skews[from], waits[i], skews[at])
		}
	}
	if most := int(time.Since(begun)/interval) + 1; passes > most {
		f.Errorf("used up at %v, %d pass at %v", skews[from], passes, skews[at])
	}
	for deadline := time.Now().Add(3 * interval); ; time.Sleep(interval / 10) {
		if passed, wait := try(at); passed {
			return
		} else if time.Now().After(deadline) {
			f.Errorf("used up at %v, nobody passes at %v: %v", skews[from], skews[at], wait)
			return
		}
	}
}
