package verify

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

var abuseChecks = checks{
	"01": {title: "no limiter", run: abuse01, once: true},
	"02": {title: "lockout as a weapon", run: abuse02},
	"03": {title: "limiter memory", run: abuse03, once: true, alone: true},
	"04": {title: "limiter per replica", run: abuse04, once: true},
	"05": {title: "limiter store down", run: abuse05},
	"06": {title: "start-flow spam", run: abuse06},
}

func abuseLimited(c *authsvc.Config) { c.RateLimit.Disabled = false }

// abuseClient returns a different address for each i.
func abuseClient(i int) string { return fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255) }

// abuseRoutes holds the POSTs that guess or spam; each makes the i-th of many
// attempts.
var abuseRoutes = map[string]func(b *arena.Browser, i int, more ...string) *browser.Answer{
	"/signin/email": func(b *arena.Browser, i int, more ...string) *browser.Answer {
		return b.Post("/api/auth/signin/email", append(more, "email", fmt.Sprintf("someone%d@app.test", i))...)
	},
	"/callback/credentials": func(b *arena.Browser, i int, more ...string) *browser.Answer {
		return b.Post("/api/auth/callback/credentials", append(more, "username", fmt.Sprint("someone", i), "password", "wrong")...)
	},
	"/callback/email": func(b *arena.Browser, i int, more ...string) *browser.Answer {
		return b.Post("/api/auth/callback/email", append(more, "email", "ada@app.test", "token", fmt.Sprintf("%043d", i))...)
	},
}

// abuse01 sends 10 000 requests in one second during which the clock does not move.
func abuse01(t *T) {
	n := t.Scale("requests in a second at each route", 500, 2000, 10_000)
	for path, attempt := range abuseRoutes {
		for name, address := range map[string]func(i int) string{
			"one address": func(int) string { return "198.51.100.7:1" },
			"one /64":     func(i int) string { return fmt.Sprintf("[2001:db8:1:2:%x::%x]:1", i&0xfff, i) },
			"one account in two spellings": func(i int) string {
				return []string{"198.51.100.7:1", "[::ffff:198.51.100.7]:1"}[i%2]
			},
		} {
			t.Run(path+" from "+name, func(t *T) {
				emailBubble(t, func(t *T) {
					w := t.EnterOffline(abuseLimited)
					passed := abuseFlood(t, w, n, address, attempt)
					if passed != 30 {
						t.Errorf("%d passed", passed)
					}
					other := w.Browser()
					other.IP = "[2001:db8:1:3::1]:1"
					if a := attempt(other, n); a.StatusCode == http.StatusTooManyRequests {
						t.Error("twin: another client is refused too")
					}
					time.Sleep(time.Minute)
					again := w.Browser()
					again.IP = address(0)
					if a := attempt(again, n); a.StatusCode == http.StatusTooManyRequests {
						t.Error("twin: a minute later")
					}
				})
			})
		}
	}
	for name, many := range map[string]struct {
		address func(i int) string
		mails   int // at once, of 1000 an hour, a fifth of which is kept for known browsers
	}{
		"1000 addresses":    {func(i int) string { return abuseClient(i % 1000) }, 800},
		"1000 /48":          {func(i int) string { return fmt.Sprintf("[2001:db8:%x::%x]:1", i%1000, i) }, 800},
		"1000 /64 of a /48": {func(i int) string { return fmt.Sprintf("[2001:db8:2:%x::%x]:1", i%1000, i) }, 100},
	} {
		t.Run("from "+name, func(t *T) { emailBubble(t, func(t *T) { abuseMany(t, n, many.address, many.mails) }) })
	}
	abuseDocumented(t)
}

// abuseFlood makes n attempts and returns how many passed the limits.
func abuseFlood(t *T, w *arena.World, n int, address func(i int) string, attempt func(*arena.Browser, int, ...string) *browser.Answer) (passed int) {
	t.Helper()
	b := w.Browser()
	token := b.CSRF()
	for i := range n {
		c := b.Clone()
		c.IP = address(i)
		a := attempt(c, i, "csrfToken", token)
		switch {
		case a.StatusCode != http.StatusTooManyRequests:
			passed++
		case a.Header.Get("Retry-After") == "" || a.Header.Get("Retry-After") == "0":
			t.Fatalf("429 with Retry-After %q", a.Header.Get("Retry-After"))
		}
	}
	return passed
}

// abuseMany checks how much many addresses achieve together against one account and
// one mailbox, and how many mails they cause.
func abuseMany(t *T, n int, address func(i int) string, mails int) {
	w := t.EnterOffline(abuseLimited)
	b := w.Browser()
	token := b.CSRF()
	began := time.Now()
	var judged atomic.Int64
	var all sync.WaitGroup
	for i := range n { // at once: past the limit, few attempts wait
		all.Go(func() {
			c := b.Clone()
			c.IP = address(i)
			if a := c.Post("/api/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "wrong"); strings.Contains(a.Location(), "CredentialsSignin") {
				judged.Add(1)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); judged.Load() > 10+int64(took/(5*time.Second))+1 || took > 11*time.Second {
		t.Errorf("one account: %d judged in %v", judged.Load(), took)
	}
	sent := w.Mail.Count()
	for i := range n {
		c := b.Clone()
		c.IP = address(i)
		c.Post("/api/auth/signin/email", "csrfToken", token, "email", "victim@app.test")
	}
	synctest.Wait()
	if got := w.Mail.Count() - sent; got != 5 {
		t.Errorf("one mailbox: %d mails", got)
	}
	time.Sleep(time.Hour)
	sent = w.Mail.Count()
	for i := range max(n/3, 1200) {
		c := b.Clone()
		c.IP = address(i)
		c.Post("/api/auth/signin/email", "csrfToken", token, "email", fmt.Sprintf("someone%d@app.test", i))
	}
	synctest.Wait()
	if got := w.Mail.Count() - sent; got != mails {
		t.Errorf("all mailboxes: %d mails, want %d", got, mails)
	}
}

func abuseDocumented(t *T) {
	t.Helper()
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"sign_in", "email_per_address", "email_total", "credentials_per_account"} {
		if !strings.Contains(string(text), "`rate_limit."+key+"`") {
			t.Errorf("rate_limit.%s is not documented", key)
		}
	}
	if !strings.Contains(string(text), "30 attempts a minute with a mailed link or code, per client address") {
		t.Error("the limit of links and codes is not documented")
	}
}

// abuse02 makes an attacker with many addresses fail a thousand times at the victim's
// account, and continue.
func abuse02(t *T) {
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(abuseLimited)
		in, known, stranger := w.Browser(), w.Browser(), w.Browser()
		known.IP, stranger.IP = "203.0.113.8:1", "203.0.113.9:1"
		in.Login("ada")
		known.Login("ada")
		if known.Email() != "ada@app.test" {
			t.Fatal("twin: the known browser")
		}
		known.Post("/api/auth/signout")
		fails := t.Scale("failures", 200, 1000, 1000)
		var all sync.WaitGroup
		var over atomic.Bool
		for i := range 50 {
			all.Go(func() {
				b := w.Browser()
				token := b.CSRF()
				for j := 0; j < fails/50 || !over.Load(); j++ {
					c := b.Clone()
					c.IP = abuseClient(i*10_000 + j)
					c.Post("/api/auth/callback/credentials", "csrfToken", token, "username", "ada", "password", "wrong")
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(time.Minute)
		began := time.Now()
		if a := known.Login("ada"); a.Location() != arena.Origin || time.Since(began) > 0 {
			t.Errorf("the known browser: %d %s after %v", a.StatusCode, a.Location(), time.Since(began))
		}
		if in.Email() != "ada@app.test" {
			t.Error("the live session ended")
		}
		if a := stranger.Get(emailAsk(t, w, stranger, "ada@app.test")); a.Location() != arena.Origin {
			t.Errorf("a link: %s", a.Location())
		}
		if a := w.Browser().Login("bob"); a.Location() != arena.Origin {
			t.Errorf("another account: %d %s", a.StatusCode, a.Location())
		}
		// An unknown browser also gets in if it retries: about one attempt in a
		// hundred gets a turn.
		const mostTries = 2000
		tries := 0
		for fresh := w.Browser(); fresh.Email() == "" && tries < mostTries; tries++ {
			fresh.IP = fmt.Sprintf("203.0.113.%d:1", 10+tries%200)
			fresh.Login("ada")
		}
		over.Store(true)
		all.Wait()
		t.Figure("tries: %d", tries)
		if tries == mostTries {
			t.Error("the owner cannot sign in with a new browser")
		}
		time.Sleep(time.Minute)
		late := w.Browser()
		late.IP = "203.0.113.250:1"
		if late.Login("ada"); late.Email() != "ada@app.test" {
			t.Error("twin: a minute after the attack")
		}
	})
}

// abuse03 checks that the limits track 100 000 clients. With more clients, memory
// does not grow, and the oldest client is evicted.
func abuse03(t *T) {
	clients := t.Scale("clients", 110_000, 150_000, 10_000_000)
	s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Session: authsvc.SessionOptions{Strategy: "jwt"}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}, RateLimit: authsvc.RateLimit{SignIn: authsvc.Rate{N: 1, Per: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	b := &arena.Browser{T: t, H: s, Origin: arena.Origin, Cookies: map[string]string{}, Header: http.Header{}, IP: abuseClient(0)}
	token := b.CSRF()
	limited := func(i int) bool {
		c := b.Clone()
		c.IP = abuseClient(i)
		return c.Post("/api/auth/callback/credentials", "csrfToken", token, "username", fmt.Sprint("someone", i), "password", "wrong").StatusCode == http.StatusTooManyRequests
	}
	if limited(0) || !limited(0) {
		t.Fatal("twin: the limit")
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	empty, atRoom := heap(), int64(0)
	for i := 1; i <= clients; i++ {
		if limited(i) {
			t.Fatalf("client %d is limited", i)
		}
		if i == 105_000 {
			atRoom = heap()
		}
	}
	end := heap()
	t.Figure("%d MiB with 105 000 clients, %d MiB with all", (atRoom-empty)>>20, (end-empty)>>20)
	if measures() && (end-atRoom > 8<<20 || end-empty > 128<<20) {
		t.Errorf("%d MiB more with %d clients than with 105 000", (end-atRoom)>>20, clients)
	}
	if limited(0) {
		t.Error("the oldest was not evicted")
	}
	if !limited(clients) || !limited(clients-50_000) {
		t.Error("a newer one was evicted")
	}
}

// abuse04 runs four processes on one store.
func abuse04(t *T) {
	const replicas = 4
	t.Stores(func(t *T, kind stores.Kind) {
		if kind.Name == "memory" { // processes cannot share a memory store
			return
		}
		dir := t.TempDir()
		env := kind.Env(t, dir)
		config := strings.Replace(process.NewNeighbours(t).YAML(""), "rate_limit: {enabled: false}\n", "", 1)
		var visitors []*browser.Browser
		for range replicas {
			visitors = append(visitors, browser.New(process.Serve(t, config, env...).URL, nil))
		}
		began, passed := time.Now(), 0
		for i := range 120 {
			a, err := visitors[i%replicas].Post("/api/auth/signin/email", "email", fmt.Sprintf("someone%d@app.test", i))
			if err != nil {
				t.Fatal(err)
			}
			if a.StatusCode != http.StatusTooManyRequests {
				passed++
			}
		}
		if most := 30 + int(time.Since(began).Seconds()/2) + 1; passed < 30 || passed > most {
			t.Errorf("%d of 120 at %d replicas passed, at most %d may", passed, replicas, most)
		}
	})
}

// abusePermits is a store whose counts fail.
type abusePermits struct {
	adapter.Adapter
	broken atomic.Bool
}

func (s *abusePermits) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (int, time.Duration, error) {
	if s.broken.Load() {
		return 0, 0, arena.ErrBroken
	}
	return s.Adapter.Permit(ctx, now, list...)
}

// abuse05 checks that each replica uses its own counts if the store's fail, as
// docs/configuration.md says: attempts are never unlimited. Without any store,
// sign-ins fail.
func abuse05(t *T) {
	for path, attempt := range abuseRoutes {
		t.Run(path, func(t *T) {
			emailBubble(t, func(t *T) {
				store := &abusePermits{Adapter: memory.New()}
				w := t.EnterOffline(func(c *authsvc.Config) { abuseLimited(c); c.Adapter = store })
				store.broken.Store(true)
				if passed := abuseFlood(t, w, 200, func(int) string { return "198.51.100.7:1" }, attempt); passed != 30 {
					t.Errorf("%d passed", passed)
				}
				if !strings.Contains(w.Logs.String(), "cannot count") {
					t.Error("the log does not say it")
				}
				w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
				b := w.Browser()
				for _, a := range []*browser.Answer{b.Login("ada"), b.Post("/api/auth/signin/email", "email", "ada@app.test")} {
					if a.Location() == arena.Origin || strings.Contains(a.Location(), "verify-request") || len(b.SessionCookies()) != 0 {
						t.Errorf("with a broken store: %d %s", a.StatusCode, a.Location())
					}
				}
				w.Ledger.BreakAt(nil)
				store.broken.Store(false)
				if b.Login("ada"); b.Email() != "ada@app.test" {
					t.Error("twin: the store is back")
				}
			})
		})
	}
}

func abuse06(t *T) {
	starts := t.Scale("starts in each mode", 300, 2000, 1_000_000)
	w := t.Enter(func(c *authsvc.Config) { c.Logger = slog.New(slog.DiscardHandler) })
	b := w.Browser()
	token := b.CSRF()
	start := func() { // half of them drop their cookies
		c := b.Clone()
		c.Begin("op", "csrfToken", token)
		b.Begin("op", "csrfToken", token)
	}
	start()
	before := len(w.Ledger.Written())
	var first, last runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&first)
	for range starts / 2 {
		start()
	}
	runtime.GC()
	runtime.ReadMemStats(&last)
	if n := len(w.Ledger.Written()) - before; n != 0 {
		t.Errorf("%d writes", n)
	}
	if theScale() == full && int64(last.HeapAlloc)-int64(first.HeapAlloc) > 64<<20 {
		t.Errorf("%d MiB more", (last.HeapAlloc-first.HeapAlloc)>>20)
	}
	pending, size := 0, 0
	for name, v := range b.Cookies {
		if size += len(name) + len(v) + 3; strings.Contains(name, ".tx.") {
			pending++
		}
	}
	if pending == 0 || pending > 5 || size > 8<<10 {
		t.Errorf("%d attempts are kept, %d bytes of cookies", pending, size)
	}
	if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
		t.Error("twin: no one can sign in")
	}
}
